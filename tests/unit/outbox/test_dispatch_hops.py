"""Hops: how many jobs led to a job."""

import pytest

from skein.services.outbox.dispatch import handling, next_hops


def test_next_hops_outside_of_a_job_is_zero() -> None:
    assert next_hops() == 0


def test_next_hops_within_a_job_is_one_more_and_ends_with_the_job() -> None:
    with handling(3):
        assert next_hops() == 4
        with handling(0):
            assert next_hops() == 1
        assert next_hops() == 4
    assert next_hops() == 0


def test_next_hops_after_a_failed_job_is_zero() -> None:
    with pytest.raises(RuntimeError), handling(3):
        raise RuntimeError
    assert next_hops() == 0
