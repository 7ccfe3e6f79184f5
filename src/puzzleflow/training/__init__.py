"""One training loop for every network, on puzzles cut fresh or stored."""
