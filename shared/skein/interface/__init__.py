"""The interfaces that sections of prompts and tools of agents implement in other packages."""

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
