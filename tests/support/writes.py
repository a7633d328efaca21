"""The writes of a story, each with its method, its key pattern, its changes and its condition.

A key pattern has `*` for each id. Values are left out, except those that name a state.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from skein.models.common.storage import (
    AllOf,
    AnyOf,
    Condition,
    Exists,
    Is,
    Missing,
    Update,
    Write,
)
from tests.patterns.meter import Meter
from tests.support.builders import World

NAMES = re.compile(r"[A-Z][A-Z_]*|user|agent|core|journal")

MOST_SHOWN = 10  # parts of a condition; the limits of a person have two dozen


class Writes(Meter):
    """A meter that records what a part of a story writes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def record(self, method: str, writes: Sequence[Write]) -> None:
        """Note the writes of a call."""
        self.lines += written(method, writes)

    @contextmanager
    def __call__(self, world: World) -> Iterator[None]:
        """Record the writes of a block, also those that the table refuses."""
        table = world.table
        carry_out = table._carry_out

        def recording(method: str, writes: Sequence[Write]) -> Any:
            self.record(method, writes)
            return carry_out(method, writes)

        vars(table)["_carry_out"] = recording
        try:
            yield
        finally:
            del vars(table)["_carry_out"]


def written(method: str, writes: Sequence[Write]) -> Iterator[str]:
    """Yield a line for each write of a call."""
    for number, write in enumerate(writes):
        attributes = list[str]()
        if isinstance(write, Update):
            attributes = [_changed(name, value) for name, value in write.set.items()]
            attributes += [f"{name} +" for name in write.add]
        first = method if number == 0 else " " * len(method)
        key = f"{pattern(write.key.pk)} {pattern(write.key.sk)}"
        shown = [first, type(write).__name__, key, ", ".join(sorted(attributes))]
        if write.condition is not None:
            shown.append(f"if {condition(write.condition)}")
        yield " | ".join(filter(None, shown))


def pattern(key: str) -> str:
    """Return a part of a key with `*` for each id."""
    parts = re.split(r"([#:])", key)
    return "".join(part if NAMES.fullmatch(part) or part in "#:" else "*" for part in parts)


def condition(of: Condition) -> str:
    """Return a condition as text."""
    match of:
        case AllOf(conditions=several) if len(several) > MOST_SHOWN:
            return f"{len(several)} attributes as read"
        case AllOf(conditions=several):
            return " and ".join(map(condition, several))
        case AnyOf(conditions=several):
            return f"({' or '.join(map(condition, several))})"
        case Exists() | Missing():
            return type(of).__name__.lower()
        case Is(attribute=name, value=value):
            return _changed(name, value)
        case _:
            return f"{type(of).__name__.lower()} {of.attribute}"


def _changed(name: str, value: object) -> str:
    if value is None:
        return f"no {name}"
    shown = f"={value}" if name in {"status", "reason", "kind"} else ""
    return f"{name}{shown}"
