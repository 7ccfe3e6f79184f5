"""From pictures to puzzles and data sets: fragment shapes, erosion models, recipes."""
