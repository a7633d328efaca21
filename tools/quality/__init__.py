"""Measure how good the tests are: branch coverage, mutation scores and removed guards."""
