"""Pictures from the Met: draw, download, check, describe."""
