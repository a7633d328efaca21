"""Warnings about agents whose model the provider does not list."""

import pytest

from skein.errors import KeyRefused, ModelRejected, ModelUnknown, SkeinError, Unavailable
from skein.services.directory.model_warnings import CACHE_SECONDS, ModelWarnings
from tests.fakes.model_list import MemoryModelList
from tests.support.builders import World

LISTED = frozenset({"gpt-4.1-mini", "big"})


@pytest.fixture
def world() -> World:
    world = World()
    world.model_list.listed = LISTED
    return world


def warnings_of(world: World, model: str | None) -> list[str]:
    """Return the codes of the warnings about an agent with a model."""
    agent = world.agent(model=model)
    return [each.code for each in world.app.get(ModelWarnings).of(agent)]


@pytest.mark.parametrize("model", ["big", None])
def test_agent_with_a_listed_model_has_no_warning(world: World, model: str | None) -> None:
    assert warnings_of(world, model) == []


def test_agent_with_an_unlisted_model_has_a_warning_with_its_name(world: World) -> None:
    [warning] = world.app.get(ModelWarnings).of(world.agent(model="gtp-4"))
    assert warning.code == "unlisted_model"
    assert "gtp-4" in warning.message
    assert "default" not in warning.message


def test_agent_without_a_model_is_checked_by_the_default_model(world: World) -> None:
    world.model_list.listed = frozenset({"other"})
    [warning] = world.app.get(ModelWarnings).of(world.agent())
    assert "gpt-4.1-mini, which is the default model" in warning.message


def test_provider_without_a_list_causes_no_warning(world: World) -> None:
    world.model_list.listed = frozenset()
    assert warnings_of(world, "gtp-4") == []


@pytest.mark.parametrize(
    "error", [Unavailable("x"), KeyRefused("x"), ModelUnknown("x"), ModelRejected("x")], ids=repr
)
def test_list_that_fails_causes_no_warning_and_is_read_once_a_minute(
    world: World, error: SkeinError
) -> None:
    world.model_list.error = error
    assert warnings_of(world, "gtp-4") == []
    assert warnings_of(world, "gtp-4") == []
    assert world.model_list.calls == 1
    world.model_list.error = None
    world.clock.advance(seconds=CACHE_SECONDS)
    assert warnings_of(world, "gtp-4") == ["unlisted_model"]


def test_list_is_read_again_after_a_minute(world: World) -> None:
    assert warnings_of(world, "new") == ["unlisted_model"]
    world.model_list.listed = LISTED | {"new"}
    world.clock.advance(seconds=CACHE_SECONDS - 1)
    assert warnings_of(world, "new") == ["unlisted_model"]
    assert world.model_list.calls == 1
    world.clock.advance(seconds=1)
    assert warnings_of(world, "new") == []


def test_list_that_fails_after_a_success_causes_no_warning(world: World) -> None:
    assert warnings_of(world, "gtp-4") == ["unlisted_model"]
    world.model_list.error = Unavailable("x")
    world.clock.advance(seconds=CACHE_SECONDS)
    assert warnings_of(world, "gtp-4") == []


def test_list_is_read_with_a_short_time_out(world: World) -> None:
    asked: list[float] = []

    class Recording(MemoryModelList):
        def models(self, *, seconds: float) -> frozenset[str]:
            asked.append(seconds)
            return super().models(seconds=seconds)

    warnings = ModelWarnings(model_list=Recording(), clock=world.clock, settings=world.settings)
    warnings.of(world.agent())
    assert asked == [3.0]
