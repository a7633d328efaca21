"""Retries: how long each wait is, and when to give up."""

from datetime import timedelta

import pytest

from skein.models.common.retry import Retry, doubling, minutes

HOUR = timedelta(hours=1)


def test_retry_repeats_its_last_wait() -> None:
    retry = Retry(minutes(1, 5))
    assert [retry.wait(tries) for tries in range(1, 4)] == list(minutes(1, 5, 5))


def test_each_doubled_wait_is_twice_as_long() -> None:
    assert doubling(timedelta(minutes=10), 2) == minutes(10, 20, 40)


@pytest.mark.parametrize(
    ("tries", "waited", "over"),
    [(2, HOUR / 2, False), (3, timedelta(), True), (0, HOUR, True)],
)
def test_retry_is_over_at_either_limit(tries: int, waited: timedelta, over: bool) -> None:
    retry = Retry(minutes(1), max_tries=3, give_up=HOUR)
    assert retry.is_over(tries=tries, waited=waited) is over


def test_retry_without_limits_is_never_over() -> None:
    assert not Retry(minutes(1)).is_over(tries=10**6, waited=timedelta(days=10**4))


def test_random_wait_is_at_most_the_wait() -> None:
    retry = Retry(minutes(1, 5))
    waits = [retry.random_wait(tries) for tries in (1, 2) for _ in range(50)]
    assert max(waits[:50]) <= 60
    assert 60 < max(waits) <= 300
    assert len(set(waits)) > 1
