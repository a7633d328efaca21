"""The prompt of an activation, built from a reading: sections, budget, timeline."""

__all__ = [
    "builder",
    "documents",
    "history",
    "names",
    "section",
    "sections",
    "skills",
    "spoken_start",
    "spoken_text",
    "threads",
    "timeline",
    "token_cache",
]
