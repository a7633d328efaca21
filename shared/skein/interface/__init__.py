"""Define what a section and a tool are, for the subjects that have some."""

__all__ = [
    "arguments",
    "budget",
    "extensions",
    "history",
    "media",
    "names",
    "reading",
    "section",
    "sources",
    "timeline",
    "told",
    "tool",
    "tool_context",
]
