"""Functions of a template, with the event sources that a test needs."""

from pathlib import Path
from typing import Any

from local.polling.feed import FeedSource
from local.template import Function, StreamSource


def a_function(name: str, **changes: Any) -> Function:
    """A function without event sources.

    Args:
        name: The logical id.
        changes: Other values of attributes of `Function`.
    """
    defaults: dict[str, Any] = {
        "code": Path(),
        "handler": "x.handler",
        "timeout": 60,
        "memory": 128,
        "environment": {},
        "routes": (),
        "queues": (),
        "schedules": (),
    }
    return Function(logical_id=name, **(defaults | changes))


def a_feed(pattern: str, *, name: str = "Feed", **changes: Any) -> FeedSource:
    """A feed of changes, whose given-up batches go to the queue `Dead`.

    Args:
        pattern: The event filter, as JSON.
        name: The logical id of the function.
        changes: Other values of attributes of `StreamSource`.
    """
    defaults: dict[str, Any] = {
        "batch_size": 4,
        "partial_failures": True,
        "bisects": True,
        "max_retries": 2,
        "max_age": None,
        "failures": "Dead",
        "patterns": (pattern,),
    }
    settings = StreamSource(**(defaults | changes))
    return FeedSource(a_function(name, streams=(settings,)), settings)
