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
