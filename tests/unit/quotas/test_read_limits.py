"""Reads are unmetered up to a threshold; beyond it, a bucket limits them across containers."""

import pytest

from skein.errors import RateLimited
from skein.models.quotas.limit import Allowance, owner_of_user
from skein.services.quotas.read_limits import (
    FREE_READS,
    MAX_FRAMES,
    READS_AT_ONCE,
    FrameLimits,
    ReadLimits,
)
from skein.settings import Settings
from tests.support.builders import TENANT, World

HUSAM = "usr_husam"
SIZE = 50


@pytest.fixture
def world() -> World:
    """A world with a bucket of 50 reads."""
    return World(Settings(user_reads_per_minute=SIZE))


def container(world: World) -> ReadLimits:
    """A further container, with counts of its own."""
    return ReadLimits(clock=world.clock, limiter=world.app.rate_limiter)


def bucket(world: World) -> Allowance:
    owner = owner_of_user(HUSAM)
    return Allowance.from_optional(world.table.get(Allowance.key_of(TENANT, owner)), TENANT, owner)


def read(limits: ReadLimits, times: int) -> int:
    """Read some times; return how many reads were admitted."""
    admitted = 0
    for _ in range(times):
        try:
            limits.admit(TENANT, HUSAM)
        except RateLimited:
            continue
        admitted += 1
    return admitted


def test_first_reads_of_a_minute_write_nothing(world: World) -> None:
    limits = container(world)
    assert read(limits, FREE_READS) == FREE_READS
    assert bucket(world).reads_full_at is None
    world.clock.advance(60)
    assert read(limits, FREE_READS) == FREE_READS
    assert bucket(world).reads_full_at is None


def test_one_write_takes_ten_further_reads(world: World) -> None:
    limits = container(world)
    read(limits, FREE_READS + 1)
    taken = bucket(world)
    read(limits, READS_AT_ONCE - 1)
    assert taken.reads_full_at is not None
    assert bucket(world) == taken
    read(limits, 1)
    assert bucket(world) != taken


def test_bucket_bounds_reads_of_all_containers_until_it_refills(world: World) -> None:
    one, other = container(world), container(world)
    assert read(one, 200) == FREE_READS + SIZE
    assert read(other, 200) == FREE_READS
    with pytest.raises(RateLimited) as refused:
        other.admit(TENANT, HUSAM)
    assert 1 <= refused.value.retry_after_seconds <= 60
    world.clock.advance(60)
    assert read(other, 200) == FREE_READS + SIZE


def test_reads_of_one_person_leave_those_of_others_alone(world: World) -> None:
    limits = container(world)
    read(limits, 200)
    limits.admit(TENANT, "usr_ahmad")
    limits.admit("other", HUSAM)


def test_read_limit_of_zero_is_unlimited() -> None:
    world = World(Settings(user_reads_per_minute=0))
    assert read(container(world), 1_000) == 1_000


def test_frames_of_a_connection_have_a_limit_each_minute(world: World) -> None:
    limits = FrameLimits(clock=world.clock)
    assert [limits.admit("c1") for _ in range(MAX_FRAMES + 1)] == [True] * MAX_FRAMES + [False]
    assert limits.admit("c2")
    world.clock.advance(60)
    assert limits.admit("c1")
