"""Check the pictures and files of messages, let people upload and see them, and describe them.

A picture or file is an item, `MediaFile`, with a file in the bucket. Tools of agents read the texts
of files with `texts`.
"""

__all__ = ["api", "copies", "deleting", "describing", "receiving", "texts", "uploads"]
