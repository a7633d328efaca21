"""Define the passages and postings by which recall finds old messages, and memories it tells."""

__all__ = ["own_words", "stored"]
