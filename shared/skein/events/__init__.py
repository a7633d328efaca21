"""Tell services of operators what has happened, by signed events."""

__all__ = [
    "api",
    "endpoints",
    "erasing",
    "models",
    "payloads",
    "queuing",
    "sending",
]
