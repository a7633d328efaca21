"""Models of triggers, of runs and their steps, and of the requests to language models."""

__all__ = [
    "completion",
    "provenance",
    "recordable",
    "reduced_schema",
    "requested_call",
    "run",
    "step",
    "strict_schema",
    "tool_arguments",
    "trigger",
]
