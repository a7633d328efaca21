"""Measurements of the tests: branch coverage and mutation scores."""
