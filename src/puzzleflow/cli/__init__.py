"""The puzzleflow command: one file for every subcommand."""
