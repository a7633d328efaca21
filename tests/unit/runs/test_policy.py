"""The numbers of the run policy fit together, and its pauses grow and end."""

from datetime import timedelta
from pathlib import Path

import pytest

from local.template import Template
from skein.models.outbox.jobs import MAX_DELAY_SECONDS
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.services.runs import policy
from skein.settings import Settings
from tests.support.builders import NOON, TENANT

SETTINGS = Settings(table_name="skein")
TEMPLATE = Path(__file__).resolve().parents[3] / "template.yaml"


def a_run(**fields: object) -> Run:
    return Run.model_validate(
        {
            "tenant": TENANT,
            "id": "run_1_chat_1",
            "agent_id": "agt_1",
            "trigger": Trigger(type="manual"),
            "created_at": NOON,
            **fields,
        }
    )


def test_lease_outlives_the_invocation() -> None:
    assert policy.lease_end(NOON) > NOON


def test_model_call_ends_before_the_invocation_with_time_to_write() -> None:
    assert NOON - policy.model_deadline(NOON) == timedelta(seconds=policy.WRITING_SECONDS)


def test_invocation_of_the_run_worker_has_time_for_a_model_call() -> None:
    [worker] = [
        function
        for function in Template.load(TEMPLATE).functions
        if function.logical_id == "RunWorker"
    ]
    assert worker.timeout > policy.MIN_MODEL_SECONDS + policy.WRITING_SECONDS


def test_attempt_pause_doubles_until_the_attempts_are_over() -> None:
    runs = [a_run(attempts=n) for n in range(1, policy.ATTEMPTS.max_tries + 1)]
    pauses = [policy.attempt_pause(run) for run in runs]
    assert pauses == [10 * 2**n for n in range(len(runs))]
    over = [policy.attempts_are_over(run) for run in runs]
    assert over == [False] * (len(runs) - 1) + [True]


@pytest.mark.parametrize("longest", [None, policy.BUSY_SECONDS])
def test_deferral_pause_doubles_up_to_its_bound(longest: int | None) -> None:
    bound = longest or SETTINGS.model_retry_max_seconds
    pauses = [
        policy.deferral_pause(a_run(deferrals=n), SETTINGS, longest_seconds=longest)
        for n in range(20)
    ]
    assert pauses[0] == min(10, bound)
    assert pauses == sorted(pauses)
    assert pauses[-1] == bound


def test_deferrals_are_over_after_their_time_from_the_last_merge() -> None:
    longest = policy.DEFERRALS.give_up
    second = timedelta(seconds=1)
    assert not policy.deferrals_are_over(a_run(), NOON + longest)
    assert policy.deferrals_are_over(a_run(), NOON + longest + second)
    joined = a_run(joined_at=NOON + second)
    assert not policy.deferrals_are_over(joined, NOON + longest + second)


def test_queue_delay_is_at_most_what_sqs_accepts() -> None:
    assert policy.queue_delay(7) == 7
    assert policy.queue_delay(3600) == MAX_DELAY_SECONDS
