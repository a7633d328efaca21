"""Search for leaks: run a story with two secrets and compare what outsiders see."""
