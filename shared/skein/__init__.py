"""Skein gives AI agents one coherent mind across many conversations."""
