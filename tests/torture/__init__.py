"""Tries to break every promise: `make torture`. The quick part of it runs with the other tests."""
