"""Define the passages of messages and the postings of words by which recall finds old messages."""

__all__ = ["stored"]
