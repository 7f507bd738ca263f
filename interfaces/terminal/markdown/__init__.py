"""Replies as they stream: Markdown in, finished rows out, each written once and never redrawn."""
