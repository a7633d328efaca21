"""Define triggers, runs, their steps and the requests to language models."""

__all__ = [
    "completion",
    "recordable",
    "run",
    "step",
    "tool_arguments",
    "trigger",
]
