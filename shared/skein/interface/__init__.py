"""The interfaces of prompt sections and of agents' tools, which other packages implement."""

__all__ = [
    "arguments",
    "budget",
    "citations",
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
