"""Run policy: what a run may do, when it is tried again, and how long its lease lasts.

This module holds the constants and rules of the policy, as pure functions. Some decisions need more
than a number and have a module of their own:

- `services/runs/wakeups.py`: which messages trigger an agent, and how often;
- `services/visibility/disclosure.py`: where a run may post;
- `services/runs/slots.py`: which run of an agent and a chat works next;
- `services/runs/debounce.py`: when the answer to a burst of messages may begin;
- `services/runs/concurrency_limit.py`: how many runs of a person, a tenant and an agent work at
  once.

`tests/unit/runs/test_policy.py` checks that the numbers are consistent.
"""

from datetime import datetime, timedelta

from skein.models.common.retry import Retry, doubling
from skein.models.outbox.jobs import MAX_DELAY_SECONDS
from skein.models.runs.run import Run
from skein.settings import Settings

# What one run may do.
MAX_STEPS = 20
MAX_CALLS_PER_STEP = 20
MAX_WAITS = 10
MAX_REBUILDS = 3  # rebuilds while people keep joining the run's chat
MAX_TOLD_REBUILDS = 1  # with content from sharing rules; later rebuilds leave the content out
WAIT_SECONDS = 300  # the wait for a reply, unless the run sets its own time
MAX_WAIT = timedelta(days=7)

# When a failed run is tried again.
ATTEMPTS = Retry(doubling(timedelta(seconds=10), 2), max_tries=3)
# When a run is tried again whose model is down.
DEFERRALS = Retry(doubling(timedelta(seconds=10), 7), give_up=timedelta(hours=6))

# What one invocation may still begin.
RUN_LEASE_MARGIN = timedelta(seconds=2)  # the lease ends after the invocation, never before
WRITING_SECONDS = 10  # reserved after the model call to record and post the answer
MIN_MODEL_SECONDS = 20  # with less time left, a new invocation continues the run

# When a run is tried again that got no permit.
BUSY_SECONDS = 30  # the longest deferral of a run that hit the concurrency limit


def lease_end(deadline: datetime) -> datetime:
    """Return the end of a worker's lease, given the end of its invocation."""
    return deadline + RUN_LEASE_MARGIN


def model_deadline(deadline: datetime) -> datetime:
    """Return the latest end of a model call, given the end of the invocation."""
    return deadline - timedelta(seconds=WRITING_SECONDS)


def attempts_are_over(run: Run) -> bool:
    return ATTEMPTS.is_over(tries=run.attempts)


def attempt_pause(run: Run) -> int:
    """Return the seconds until the next attempt; they double with each attempt."""
    return int(ATTEMPTS.wait(run.attempts).total_seconds())


def deferral_pause(run: Run, settings: Settings, *, longest_seconds: int | None = None) -> int:
    """Return the seconds for which a run is deferred; they double with each deferral.

    Args:
        run: The run, before this deferral.
        longest_seconds: The upper bound; None for the setting `model_retry_max_seconds`.
    """
    longest = longest_seconds or settings.model_retry_max_seconds
    return min(int(DEFERRALS.wait(run.deferrals + 1).total_seconds()), longest)


def falls_back(run: Run, settings: Settings, now: datetime) -> bool:
    """Return whether a fallback model answers, because the run's own was down for too long."""
    waited = now - max(run.joined_at or run.created_at, run.counted_from)
    return run.deferrals > 0 and waited.total_seconds() >= settings.fallback_seconds


def deferrals_are_over(run: Run, now: datetime) -> bool:
    """Return whether a run was deferred for so long that it fails; pauses do not count."""
    waited = now - max(run.joined_at or run.created_at, run.counted_from)
    return waited > DEFERRALS.give_up


def queue_delay(pause_seconds: int) -> int:
    """Return the queue delay of a job in whole seconds, at most 900."""
    return min(pause_seconds, MAX_DELAY_SECONDS)
