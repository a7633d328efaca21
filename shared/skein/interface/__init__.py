"""Define the interfaces of sections and tools, for the packages that implement them."""

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
