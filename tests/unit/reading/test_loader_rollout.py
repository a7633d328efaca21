"""Context is rolled out: on or off, to a share of the people, and as a tenant wants it."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.agent.reading.loader import gets_context, share_of
from skein.agent.sections.trigger import ShownTrigger
from skein.interface.history import History
from skein.models.config.overrides import Overrides, StackOverridesChange, TenantOverridesChange
from skein.models.visibility.ownership import Owner
from skein.services.config.stack_settings import StackSettingsService
from skein.settings import Settings
from skein.workspace.sections.threads import Threads
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import Script, ScriptedModel

HUSAM, COACH = person(), bot()
NOTHING: Overrides = {}
PEOPLE = 100_000


@dataclass(frozen=True)
class Rollout:
    stack: Overrides
    settings: Settings

    def includes(self, user_id: str, said: Overrides) -> bool:
        return gets_context(user_id, self.settings.overridden(self.stack, said))


def people(count: int = PEOPLE) -> list[str]:
    return [f"usr_{n:026d}" for n in range(count)]


def rollout(settings: Settings | None = None, **stack: Any) -> Rollout:
    """The roll-out with these settings of the stack."""
    return Rollout(stack, settings or Settings())


# ---------------------------------------------------------------------- who


@pytest.mark.check
def test_rollout_to_ten_percent_includes_a_tenth_of_the_people() -> None:
    ten = rollout(context_rollout_percent=10)
    included = sum(ten.includes(user, NOTHING) for user in people())
    assert 0.097 <= included / PEOPLE <= 0.103


def test_rollout_includes_the_configured_percentage() -> None:
    shares = {user: share_of(user) for user in people()}
    for percent in (1, 10, 25, 50, 75, 99):
        included = sum(share < percent * 100 for share in shares.values())
        assert abs(included / PEOPLE - percent / 100) <= 0.003
    users = {share: user for user, share in shares.items()}
    nobody, everybody = rollout(context_rollout_percent=0), rollout(context_rollout_percent=100)
    assert not nobody.includes(users[0], NOTHING)
    assert everybody.includes(users[9_999], NOTHING)


@given(st.text(max_size=80), st.floats(0, 100), st.floats(0, 100))
def test_rollout_is_deterministic_and_monotonic_in_the_percentage(
    user_id: str, one: float, other: float
) -> None:
    fewer, more = sorted((one, other))
    answers = [
        rollout(context_rollout_percent=percent).includes(user_id, NOTHING)
        for percent in (fewer, fewer, more)
    ]
    assert answers[0] == answers[1]
    assert answers[0] <= answers[-1]
    assert rollout(context_rollout_percent=100).includes(user_id, NOTHING)
    assert not rollout(context_rollout_percent=0).includes(user_id, NOTHING)


def test_rollout_share_of_a_person_is_stable() -> None:
    """Changing the hash would take context from people who have it."""
    assert [share_of(f"usr_{n}") for n in range(4)] == [1600, 8059, 4782, 5063]


# ---------------------------------------------------------------------- who says so


def test_the_tenant_wins_over_the_stack_and_the_stack_over_the_environment() -> None:
    user = "usr_husam"
    assert rollout().includes(user, NOTHING), "on for everybody, if nobody says otherwise"
    off = Settings(context_enabled=False)
    assert not rollout(off).includes(user, NOTHING)
    assert rollout(off, context_enabled=True).includes(user, NOTHING)
    assert not rollout(context_enabled=False).includes(user, NOTHING)
    assert rollout(context_enabled=False).includes(user, {"context_enabled": True})
    assert not rollout(context_enabled=True).includes(user, {"context_enabled": False})
    none, all_of_them = ({"context_rollout_percent": share} for share in (0, 100))
    assert not rollout(context_rollout_percent=100).includes(user, none)
    assert rollout(context_rollout_percent=0).includes(user, all_of_them)
    assert not rollout(Settings(context_rollout_percent=0)).includes(user, NOTHING)


def test_a_tenants_half_percent_are_the_same_people_as_the_stacks_and_the_environments() -> None:
    half = 0.5
    ways = (
        (rollout(), {"context_rollout_percent": half}),
        (rollout(context_rollout_percent=half), NOTHING),
        (rollout(Settings(context_rollout_percent=half)), NOTHING),
    )
    some = people(4_000)
    included = [{user for user in some if way.includes(user, said)} for way, said in ways]
    assert included[0] == included[1] == included[2]
    assert 0.003 <= len(included[0]) / len(some) <= 0.007


# ---------------------------------------------------------------------- what it means


def world_with(*script: Script, **stack: Any) -> World:
    world = World(model=ScriptedModel.saying(*script, default="Noted."))
    turn(world, **stack)
    world.agent(system_prompt="Be kind.")
    return world


def turn(world: World, **stack: Any) -> None:
    settings_service = StackSettingsService(table=world.table, clock=world.clock)
    settings_service.change(StackOverridesChange(**stack))


def talk(world: World, *texts: str) -> None:
    for text in texts:
        world.post(text, HUSAM)
        world.drain()


def words(world: World) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in world.model.requests[-1].messages]


def direct(**stack: Any) -> World:
    world = world_with(**stack)
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    return world


def test_without_context_the_prompt_is_the_plain_single_one() -> None:
    world = direct(context_enabled=False)
    talk(world, "My back hurts", "Since Monday", "What should I do?")
    (role, system), *said = words(world)
    assert role == "system"
    assert said == [("user", "[Husam (human)] What should I do?")]
    assert system.startswith("IDENTITY")
    assert "Be kind." in system
    assert "back" not in system
    assert {run.marks for run in world.runs()} == {("context_off",)}
    view = world.app.run_views.get(TENANT, world.runs()[-1].id)
    assert view.prompt is not None
    assert view.prompt.marks == ("context_off",)
    names = [section.name for section in view.prompt.sections]
    assert names == ["IDENTITY", "INSTRUCTIONS", "CHAT HISTORY"]
    assert world.texts()[1::2] == ["Noted."] * 3


def test_reading_without_context_holds_no_memory() -> None:
    world = direct(context_enabled=False)
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    world.app.memories.add(owner, "Backs hurt", "core", made_by="api")
    world.post("What should I do?", HUSAM)
    [run] = world.runs()
    reading = world.app.context_loader.fresh(run, world.stored_chat(), world.membership(COACH))
    assert reading.prompt_mark == "context_off"
    assert {type(items) for items in reading.items} == {History, ShownTrigger, Threads}


def test_agent_after_context_is_enabled_sees_earlier_messages() -> None:
    world = direct(context_enabled=False)
    talk(world, "My back hurts")
    turn(world, context_enabled=True)
    talk(world, "What should I do?")
    assert "My back hurts" in str(words(world))
    assert [run.marks for run in world.runs()] == [("context_off",), ()]


def test_tenant_override_turns_context_on_or_off() -> None:
    world = direct(context_enabled=True)
    world.app.tenant_settings.change(TENANT, TenantOverridesChange(context_enabled=False))
    talk(world, "My back hurts", "What should I do?")
    assert world.runs()[-1].marks == ("context_off",)
    world.app.tenant_settings.change(
        TENANT, TenantOverridesChange(context_enabled=True, context_rollout_percent=100)
    )
    talk(world, "Hello?")
    assert world.runs()[-1].marks == ()
    assert "My back hurts" in str(words(world))


def test_groups_always_have_context() -> None:
    world = world_with(context_enabled=False)
    world.chat(HUSAM, COACH)
    talk(world, "My back hurts", "What should I do?")
    assert world.runs()[-1].marks == ()
    assert "My back hurts" in str(words(world))


def test_manually_triggered_run_without_context_answers_the_newest_message() -> None:
    world = direct(context_enabled=False)
    talk(world, "My back hurts", "Since Monday")
    world.app.manual_trigger.now(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    said = [content for role, content in words(world) if role == "user"]
    assert said[0] == "[Husam (human)] Since Monday"
    assert "My back hurts" not in str(words(world))


def test_all_of_a_burst_is_shown_and_seen() -> None:
    world = direct(context_enabled=False)
    talk(world, "My back hurts", "Since Monday")
    assert world.membership(COACH).seen_seq == 3
    for text in ("I can't eat nuts.", "What should I eat?"):
        world.post(text, HUSAM)
    world.drain()
    assert [content for role, content in words(world) if role == "user"] == [
        "[Husam (human)] I can't eat nuts.",
        "[Husam (human)] What should I eat?",
    ]
    assert world.membership(COACH).seen_seq == 6


def test_watermark_moves_past_shown_messages_only() -> None:
    world = world_with(context_enabled=False)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", respond="mention")
    talk(world, "@Coach My back hurts", "Since Monday", "@Coach What should I do?")
    assert "Monday" not in str(words(world))
    assert world.membership(COACH).seen_seq == 2, "over its own answer, not over what it missed"


def test_an_operator_is_shown_the_plain_prompt_too() -> None:
    world = direct(context_enabled=False)
    talk(world, "My back hurts", "Since Monday")
    shown = world.app.preview.show(TENANT, "agt_a", "chat_1")
    assert shown.marks == ("context_off",)
    assert "My back hurts" not in str(shown)
