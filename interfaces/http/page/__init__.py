"""The page for browsers: its files, which contain no personal data, and its requests."""
