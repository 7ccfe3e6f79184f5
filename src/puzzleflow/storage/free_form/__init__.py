"""Free-form fragments on disk: one reader a format, one door, one format of our own."""
