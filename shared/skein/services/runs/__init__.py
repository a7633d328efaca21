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
    "own_runs",
    "pace",
    "run_views",
    "slots",
    "step_record",
    "triggers",
    "waits",
]
