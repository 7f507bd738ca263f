"""The lexical index: our own tokens in SQLite's FTS5, written in the transaction of the turn."""

from __future__ import annotations

SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5(tokens, tokenize='unicode61');
"""
