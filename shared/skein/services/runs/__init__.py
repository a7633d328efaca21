"""Queue, claim, record, defer and end runs, and decide where they may post."""

__all__ = [
    "background_runs",
    "chain",
    "claim",
    "completion",
    "concurrency_limit",
    "debounce",
    "disclosure",
    "lifecycle",
    "manual_trigger",
    "queries",
    "slots",
    "step_record",
    "waits",
    "wakeups",
]
