"""Latencies of answers, for the service level objectives."""

from datetime import datetime

from skein.models.runs.run import Run
from skein.ports import Metrics


def record_start(metrics: Metrics, run: Run, now: datetime) -> None:
    """Record how long a run has waited for its first claim, in seconds, excluding pauses."""
    if run.started_at is None:
        metrics.count("RunStartSeconds", _seconds(run, now), unit="Seconds")


def record_answer(metrics: Metrics, run: Run, now: datetime) -> None:
    """Record how long a person has waited for an answer or a question, in seconds.

    Nothing is recorded for a run that no person asked for. Nothing is recorded for a run that has
    waited for a reply either, because the agent is not responsible for the time of the wait.

    Args:
        run: The run as it was before it ended or began to wait.
    """
    if run.trigger.by_person and not run.waits:
        metrics.count("AnswerSeconds", _seconds(run, now), unit="Seconds")


def _seconds(run: Run, now: datetime) -> float:
    return max((now - run.counted_from).total_seconds(), 0.0)
