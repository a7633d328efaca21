"""Traces: if tracing is on, one trace follows a message from its webhook to its delivery.

The trace id is a hash of the correlation id, which messages, runs and deliveries store. So every
function finds the trace of its work, even if a scheduled function resumed the work hours later. The
hash also decides whether a trace is sampled, so that a trace is recorded by all functions or by
none.

Each piece of work with a correlation id is a segment (see `skein.correlation.correlated`), and
`span` times a part of a segment. The parent of a segment is the segment that sent its job. If no
tracer is set, nothing is recorded and no library is loaded.
"""

import hashlib
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

Attribute = str | int
HUNDRED_PERCENT = 10_000  # sampled shares are counted in hundredths of a percent


@dataclass(slots=True)
class Span:
    """A timed piece of work.

    Attributes:
        name: For a segment, the name of the function. For a part of a segment, the name of the
            step, such as `model`.
        correlation_id: The correlation id of the work; None while it is unknown.
        parent: The span that contains this span; None for a segment.
        sent_by: The trace header of the job that started the segment; None if the job had no
            header.
        id: 16 hex digits.
        started_ns: The start, in nanoseconds since 1970.
        ended_ns: The end; None while the work lasts.
        failed: Whether the work raised an error.
        attributes: More data about the work, such as the name of the model; see `docs/alarms.md`.
    """

    name: str
    correlation_id: str | None = None
    parent: "Span | None" = None
    sent_by: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    started_ns: int = field(default_factory=time.time_ns)
    ended_ns: int | None = None
    failed: bool = False
    attributes: dict[str, Attribute] = field(default_factory=dict)

    @property
    def segment(self) -> "Span":
        """The segment that contains this span, or the span itself."""
        return self if self.parent is None else self.parent.segment

    @property
    def trace_id(self) -> str | None:
        """The trace id of the work; None while the correlation id is unknown."""
        known = self.segment.correlation_id
        return trace_id_of(known) if known else None

    @property
    def parent_id(self) -> str | None:
        """The id of the parent in the same trace; None if there is no parent.

        The parent is the span that contains this span, or the segment that sent the job.
        """
        if self.parent is not None:
            return self.parent.id
        parts = dict(part.split("=", 1) for part in (self.sent_by or "").split(";") if "=" in part)
        same = self.trace_id is not None and parts.get("Root") == x_ray_id(self.trace_id)
        return parts.get("Parent") if same else None


class Tracer(Protocol):
    """The recorder of spans."""

    def sampled(self, trace_id: str) -> bool:
        """Return whether the spans of a trace are recorded."""
        ...

    def record(self, span: Span) -> None:
        """Record a span that has ended; never raises an error."""
        ...


_current: ContextVar[Span | None] = ContextVar("span", default=None)
_received: ContextVar[str | None] = ContextVar("trace_header", default=None)


class _Container:
    """The tracer of one Lambda container."""

    tracer: Tracer | None = None


def use(tracer: Tracer | None) -> None:
    """Set the tracer of this container; None turns tracing off."""
    _Container.tracer = tracer


def trace_id_of(correlation_id: str) -> str:
    """Return the trace id of a correlation id: 32 hex digits."""
    return hashlib.sha256(correlation_id.encode()).hexdigest()[:32]


def x_ray_id(trace_id: str) -> str:
    return f"1-{trace_id[:8]}-{trace_id[8:]}"


def is_sampled(trace_id: str, percent: float) -> bool:
    """Return whether a trace is sampled; the result is the same in every function."""
    return int(trace_id[-8:], 16) % HUNDRED_PERCENT < percent * 100


def header() -> str | None:
    """Return the trace header for jobs that are sent now; None if the trace is not recorded."""
    tracer, span = _Container.tracer, _current.get()
    trace_id = span.trace_id if span is not None else None
    if tracer is None or span is None or trace_id is None or not tracer.sampled(trace_id):
        return None
    return f"Root={x_ray_id(trace_id)};Parent={span.id};Sampled=1"


@contextmanager
def received(trace_header: str | None) -> Iterator[None]:
    """Make the segments of the block part of a received job's trace."""
    before = _received.set(trace_header)
    try:
        yield
    finally:
        _received.reset(before)


@contextmanager
def segment(name: str, correlation_id: str | None) -> Iterator[None]:
    """Record the block as a segment; `identify` can set its correlation id later."""
    with _timed(Span(name, correlation_id=correlation_id, sent_by=_received.get())):
        yield


def identify(correlation_id: str) -> None:
    """Set the correlation id of the current segment."""
    span = _current.get()
    if span is not None:
        span.segment.correlation_id = correlation_id


@contextmanager
def span(name: str, **attributes: Attribute) -> Iterator[None]:
    """Record the block as a part of the current segment; does nothing if there is no segment."""
    parent = _current.get()
    if parent is None or _Container.tracer is None:
        yield
        return
    with _timed(Span(name, parent=parent, attributes=attributes)):
        yield


def describe(**attributes: Attribute) -> None:
    """Add attributes to the innermost span that is being timed."""
    span = _current.get()
    if span is not None:
        span.attributes.update(attributes)


@contextmanager
def _timed(timed: Span) -> Iterator[None]:
    before = _current.set(timed)
    try:
        yield
    except BaseException:
        timed.failed = True
        raise
    finally:
        _current.reset(before)
        timed.ended_ns = time.time_ns()
        tracer, trace_id = _Container.tracer, timed.trace_id
        if tracer is not None and trace_id is not None and tracer.sampled(trace_id):
            tracer.record(timed)
