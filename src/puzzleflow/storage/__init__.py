"""Files of puzzles, layouts, predictions and solutions: readers and writers."""
