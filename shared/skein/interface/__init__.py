"""Define what a section and a tool are, for the subjects that have some."""

__all__ = [
    "arguments",
    "budget",
    "history",
    "names",
    "reading",
    "section",
    "timeline",
    "tool",
    "tool_context",
]
