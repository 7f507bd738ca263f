"""The door for other Python programs."""
