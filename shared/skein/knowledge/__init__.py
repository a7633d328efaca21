"""Answer from what the business has written: sources, their search, and citations.

`records` changes sources, `reading` reads them in the background, and `publishing` replaces the
indexes that `search` searches. `sections` and `tools` show passages to agents.
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
