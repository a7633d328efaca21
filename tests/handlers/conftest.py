"""The world of a test, unless its module prepares one, and the people who call."""

import pytest

from tests.support.api_client import Client, operator
from tests.support.builders import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def admin(world: World) -> Client:
    return operator(world)


@pytest.fixture
def husam(world: World) -> Client:
    return Client(world)


@pytest.fixture
def ahmad(world: World) -> Client:
    return Client(world, sub="usr_ahmad", claims={"name": "Ahmad"})
