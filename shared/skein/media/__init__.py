"""Check the pictures and files of messages, and describe them.

Each is an item, `MediaFile`, with a file in the bucket. `texts` is for the tools.
"""

__all__ = ["texts"]
