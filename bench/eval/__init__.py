"""Eval: situations that an agent has to master, played with a model and judged by code."""
