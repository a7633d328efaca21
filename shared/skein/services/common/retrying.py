"""The one way in which an optimistic read-then-write is tried again."""

from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from skein.errors import ConditionFailed, Contention
from skein.ports import Clock

MAX_TRIES = 20
FIRST_WAIT_SECONDS = 0.02
LONGEST_WAIT_SECONDS = 1.0

Reading = TypeVar("Reading")
Result = TypeVar("Result")


def optimistic(clock: Clock, attempt: Callable[[], Result]) -> Result:
    """Call `attempt` until its writes rest on a fresh reading.

    `attempt` reads, decides and writes; a `ConditionFailed` that it lets through means that
    somebody else wrote in between, so it is called again after a random pause that grows.

    Returns:
        What `attempt` returns.

    Raises:
        Contention: 20 tries were all in vain.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(ConditionFailed),
        stop=stop_after_attempt(MAX_TRIES),
        wait=wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS),
        sleep=clock.sleep,
    )
    try:
        return retrying(attempt)
    except RetryError as error:
        raise Contention(f"an optimistic write lost {MAX_TRIES} times") from error


def optimistic_on(
    clock: Clock,
    known: Reading | None,
    read: Callable[[], Reading],
    attempt: Callable[[Reading], Result],
) -> Result:
    """Call `attempt` on what is known already, and from the second time on on a fresh reading.

    Args:
        clock: Lets time pass between the tries.
        known: What the caller has read; None if nothing.
        read: Reads it.
        attempt: Decides and writes, as for `optimistic`.

    Returns:
        What `attempt` returns.

    Raises:
        Contention: 20 tries were all in vain.
    """
    readings = iter([] if known is None else [known])

    def once() -> Result:
        reading = next(readings, None)
        return attempt(read() if reading is None else reading)

    return optimistic(clock, once)
