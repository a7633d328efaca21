"""Another model answers while an agent's own is down, if the operator allows it."""

from skein.errors import Throttled
from skein.models.runs.completion import ModelRequest
from skein.models.runs.step import Step
from skein.settings import Settings
from tests.support.builders import TENANT, World, bot, person, statuses
from tests.support.fakes import ScriptedModel

OWN, EUROPE, ELSEWHERE = "gpt-4.1", "converse/eu.amazon.nova-lite-v1:0", "converse/us.amazon.nova"
ALLOWED = Settings(allowed_fallbacks=("converse/eu.*",), fallback_seconds=20, apology=False)


def world_of(settings: Settings, *fallbacks: str, down: frozenset[str]) -> World:
    """Return a direct chat whose agent has fallbacks, and in which some models are throttled."""

    def answer(request: ModelRequest) -> str:
        if request.model in down:
            raise Throttled("slow down")
        return f"I am {request.model}."

    world = World(settings, ScriptedModel.saying(default=answer))
    world.agent(model=OWN, fallback_models=fallbacks)
    world.chat(person(), bot(), kind="direct")
    world.post("Who are you?", person())
    return world


def asked(world: World) -> list[str]:
    return [request.model for request in world.model.requests]


def test_second_model_answers_after_the_first_was_down_for_longer_than_the_setting() -> None:
    world = world_of(ALLOWED, ELSEWHERE, EUROPE, down=frozenset({OWN}))
    began = world.clock.now()
    world.drain()
    *first, last = asked(world)
    assert (set(first), last) == ({OWN}, EUROPE)
    assert (world.clock.now() - began).total_seconds() >= ALLOWED.fallback_seconds
    assert world.texts()[-1] == f"I am {EUROPE}."
    [run] = world.runs()
    step = Step.read(world.table, Step.key_of(TENANT, run.id, 1))
    assert step is not None
    assert step.model == EUROPE
    assert step.instead_of is not None
    assert (step.instead_of.model, step.instead_of.error) == (OWN, "slow down")
    again = asked(world)
    world.post("And now?", person())
    world.drain()
    assert asked(world)[len(again)] == OWN  # a new run asks the agent's own model first


def test_own_model_is_asked_if_the_fallback_is_down_too() -> None:
    at_once = ALLOWED.model_copy(update={"fallback_seconds": 0})
    world = world_of(at_once, EUROPE, down=frozenset({EUROPE}))
    world.model.script.append(Throttled("slow down"))
    world.drain()
    assert asked(world) == [OWN, EUROPE, OWN]
    assert world.texts()[-1] == f"I am {OWN}."
    step = Step.read(world.table, Step.key_of(TENANT, world.runs()[0].id, 1))
    assert step is not None
    assert step.instead_of is None


def test_models_that_the_operator_does_not_allow_are_never_asked() -> None:
    for settings in (Settings(apology=False), ALLOWED):
        world = world_of(settings, ELSEWHERE, down=frozenset({OWN}))
        world.drain()
        assert set(asked(world)) == {OWN}
        assert statuses(world.runs()) == ["failed"]
