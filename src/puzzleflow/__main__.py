"""``python -m puzzleflow``: the same as the command ``puzzleflow``."""

from puzzleflow.cli.main import main

if __name__ == "__main__":
    main()
