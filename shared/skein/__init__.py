"""Skein gives AI agents one coherent mind across many conversations."""

__version__ = "0.3.0"
