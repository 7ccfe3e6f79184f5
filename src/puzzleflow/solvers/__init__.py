"""From a puzzle to a layout: classical and learned solvers behind one interface."""
