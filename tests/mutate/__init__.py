"""Breaks the program on purpose, one line at a time, and looks whether a test notices."""
