"""The stored cases and trials of an agent, and what is expected of each play of a case."""

__all__ = ["case", "expectation", "trial"]
