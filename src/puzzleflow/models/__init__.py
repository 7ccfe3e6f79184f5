"""Networks and their weights: PuzzleFlow, the relational network, the fragment VAE."""
