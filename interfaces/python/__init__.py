"""The door for other Python programs: ``Friend``."""

from interfaces.python.friend import Friend

__all__ = ["Friend"]
