"""Read everything that a prompt is built from."""

__all__ = [
    "cache",
    "loader",
    "open_threads",
    "other_chats",
    "past_summaries",
    "person",
    "prefetch",
    "reader",
    "shown_documents",
    "trigger",
]
