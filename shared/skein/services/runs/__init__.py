"""Queue, claim, record, postpone and end runs."""

__all__ = [
    "activations",
    "background_runs",
    "chain",
    "claim",
    "completion",
    "concurrency_limit",
    "current_work",
    "debounce",
    "ending_waits",
    "guarding",
    "latency",
    "lease",
    "manual_trigger",
    "policy",
    "queries",
    "reasons",
    "slots",
    "tool_warnings",
    "waits",
    "wakeups",
]
