"""Answer from what the business has written: sources, their search, and citations.

`records` changes sources, `reading` reads their texts in the background, and `publishing` replaces
the indexes, in which `search` finds passages. `sections` and `tools` show passages to agents.
"""

__all__ = [
    "api",
    "index",
    "models",
    "passages",
    "reading",
    "records",
    "search",
    "sections",
    "tools",
]
