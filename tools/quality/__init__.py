"""Measurements of the tests, the local model and `make run`."""
