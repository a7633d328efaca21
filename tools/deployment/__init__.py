"""Checks, builds and deployments of a stack, and measurements of its functions."""
