"""How far solvers can be trusted: conditions, each run as a benchmark."""
