"""Define the passages and postings of recall's index, and memories of people's own words."""

__all__ = ["own_words", "stored"]
