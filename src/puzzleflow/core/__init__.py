"""The domain, in NumPy alone: grids, puzzles, layouts, metrics, seeds, errors."""
