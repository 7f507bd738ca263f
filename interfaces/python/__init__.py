"""The memory for other Python programs: ``Friend``; for those written against MemForest: ``memforest``."""

from interfaces.python.friend import Friend

__all__ = ["Friend"]
