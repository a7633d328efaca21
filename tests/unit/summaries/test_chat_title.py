"""The titles of chats that nobody has named."""

import json
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.api.chats import ChatChange
from skein.models.chats.chat import Chat
from skein.models.common.address import phone_address
from skein.models.config.overrides import TenantOverridesChange
from skein.models.runs.completion import ModelRequest, TokenUsage
from skein.settings import Settings
from skein.summaries.model import TITLE_CHARACTERS, short_title
from tests.support.api_client import Client
from tests.support.builders import LINE, TENANT, World, bot, person

HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
PRIVATE: dict[str, Any] = {"visibility": "private"}
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private"}
COOLDOWN = 300


def world_of(*titles: Any, settings: Settings | None = None, **chat: Any) -> World:
    world = World(settings or Settings())
    world.agent()
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, COACH, **({"title": None, "respond": "manual"} | chat))
    world.model.titles.extend(
        json.dumps({"title": each}) if isinstance(each, str) else each for each in titles
    )
    return world


def say(world: World, count: int, word: str = "fact") -> None:
    for number in range(count):
        world.post(f"{word} {number}", HUSAM)
    play(world)


def play(world: World) -> None:
    while world.run_ready():
        pass


def later(world: World) -> None:
    """The cooldown is over, and the tick finds what is due."""
    for _ in range(2):
        world.clock.advance(COOLDOWN + 60)
        world.tick()
        play(world)


def chat_of(world: World) -> Chat:
    return world.stored_chat("chat_1")


def asked(world: World) -> list[str]:
    return ["\n".join(m.content for m in each.messages) for each in world.model.title_requests]


# ---------------------------------------------------------------------- when


@pytest.mark.parametrize("chat", [{}, PRIVATE, DIRECT], ids=["open", "private", "direct"])
def test_third_message_gives_a_chat_its_title(chat: dict[str, Any]) -> None:
    world = world_of("Three facts", **chat)
    say(world, 2)
    assert (chat_of(world).title, asked(world)) == (None, [])
    say(world, 1)
    assert chat_of(world).title == "Three facts"
    [question] = asked(world)
    assert "- Husam: fact 0\n- Husam: fact 1\n- Husam: fact 0" in question
    assert world.model.title_requests[0].model == world.settings.light_model
    assert Client(world).get("/v1/chats/chat_1").body["title"] == "Three facts"


def test_title_is_made_once() -> None:
    world = world_of("First", "Second")
    say(world, 3)
    say(world, 5)
    later(world)
    assert (chat_of(world).title, len(asked(world))) == ("First", 1)


@pytest.mark.parametrize("change", ["Mine", None], ids=["named", "title removed"])
def test_chat_that_a_person_named_gets_no_title(change: str | None) -> None:
    world = world_of("Other")
    world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(title=change))
    say(world, 4)
    later(world)
    assert (chat_of(world).title, asked(world)) == (change, [])


def test_made_title_that_a_person_changes_stays_changed() -> None:
    world = world_of("Made", "Again")
    say(world, 3)
    for title in ("Mine", None):
        change = ChatChange(title=title)
        world.app.chat_admin.change(TENANT, "chat_1", HUSAM.ref, change)
        say(world, 3)
        later(world)
        assert chat_of(world).title == title
    assert len(asked(world)) == 1


@pytest.mark.parametrize("case", ["off", "sms", "no agent", "discarded", "titled"])
def test_chat_without_need_of_a_title_gets_none(case: str) -> None:
    settings = Settings(auto_title=case != "off")
    sms = {**DIRECT, "line": phone_address(LINE)}
    chat: dict[str, Any] = {"sms": sms, "titled": {"title": "Beta"}}.get(case, {})
    world = world_of("Other", settings=settings, **chat)
    if case == "no agent":
        world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, COACH.ref)
    for number in range(4):
        world.post(f"fact {number}", HUSAM)
    if case == "discarded":
        world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    play(world)
    later(world)
    assert asked(world) == []
    assert chat_of(world).title == ("Beta" if case == "titled" else None)


def test_keywords_and_notices_do_not_count_as_messages() -> None:
    world = world_of("Facts")
    world.post("STOP", HUSAM, kind="keyword")
    say(world, 2)
    later(world)
    assert (chat_of(world).title, asked(world)) == (None, [])
    say(world, 1)
    assert chat_of(world).title == "Facts"


# ---------------------------------------------------------------------- failures


def test_failed_title_is_tried_three_times() -> None:
    world = world_of(Unavailable("down"), "", "...", "Late")
    say(world, 3)
    assert len(asked(world)) == 1
    for _ in range(5):
        later(world)
    assert (chat_of(world).title, len(asked(world))) == (None, 3)
    assert world.metrics.counts["SummariesFailed"] == 3


def test_title_over_the_budget_of_the_day_is_made_the_next_day() -> None:
    world = world_of("Facts", settings=Settings(auto_summary=False))
    change = TenantOverridesChange(background_tokens_per_day=1)
    world.app.tenant_settings.change(TENANT, change)
    used = TokenUsage(input_tokens=10)
    world.app.usage.add(TENANT, used, spread_by="chat_1", background=True)
    say(world, 3)
    later(world)
    assert (chat_of(world).title, asked(world)) == (None, [])
    world.clock.advance(86_400)
    world.tick()
    play(world)
    assert chat_of(world).title == "Facts"


@pytest.mark.parametrize("meanwhile", ["named", "joined", "deleted", "message"], ids=str)
def test_change_during_the_question_decides_about_the_title(meanwhile: str) -> None:
    def title(_: ModelRequest) -> str:
        admin = world.app.chat_admin
        if meanwhile == "named":
            admin.change(TENANT, "chat_1", HUSAM.ref, ChatChange(title="Mine"))
        elif meanwhile == "joined":
            world.add(AHMAD)
        elif meanwhile == "deleted":
            world.app.message_deletion.delete(TENANT, HUSAM.ref, "chat_1", 1)
        else:
            world.post("One more", HUSAM)
        return json.dumps({"title": "Made"})

    world = world_of(title, **PRIVATE)
    say(world, 3)
    expected = {"named": "Mine", "message": "Made"}
    assert chat_of(world).title == expected.get(meanwhile)


# ---------------------------------------------------------------------- whose messages


def test_person_who_joins_a_private_chat_sees_a_title_of_later_messages_only() -> None:
    world = world_of("About secrets", "About weather", **PRIVATE)
    say(world, 3, "secret")
    world.add(AHMAD)
    ahmad = Client(world, sub=AHMAD.id, claims={"name": "Ahmad"})
    assert ahmad.get("/v1/chats/chat_1").body["title"] is None
    say(world, 3, "weather")
    later(world)
    assert ahmad.get("/v1/chats/chat_1").body["title"] == "About weather"
    assert "secret" not in asked(world)[-1]


def test_title_that_a_person_set_stays_when_a_person_joins() -> None:
    world = world_of(title="Mine", **PRIVATE)
    world.add(AHMAD)
    assert chat_of(world).title == "Mine"


def test_title_of_an_open_chat_stays_when_a_person_joins() -> None:
    world = world_of("Facts")
    say(world, 3)
    world.add(AHMAD)
    assert chat_of(world).title == "Facts"


def test_deleted_message_takes_the_title_with_it() -> None:
    world = world_of("About secrets", "About facts")
    say(world, 3, "secret")
    world.app.message_deletion.delete(TENANT, HUSAM.ref, "chat_1", 2)
    assert chat_of(world).title is None
    say(world, 2)
    later(world)
    assert chat_of(world).title == "About facts"
    assert "secret 1" not in asked(world)[-1]


def test_erased_person_takes_the_title_with_them() -> None:
    world = world_of("About secrets")
    world.add(AHMAD)
    say(world, 3, "secret")
    world.app.erasures.request(TENANT, HUSAM.id, by="usr_op")
    play(world)
    assert chat_of(world).title is None


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ('{"title": "Q4 report"}', "Q4 report"),
        ('{"title": " \\"Q4\\n report.\\" "}', "Q4 report"),
        ('{"title": "\\u201cWeather\\u201d"}', "Weather"),
        (json.dumps({"title": "x" * 300}), "x" * TITLE_CHARACTERS),
        ('{"title": "..."}', None),
        ('{"title": 5}', None),
        ("Q4 report", None),
    ],
)
def test_title_answer_is_cleaned_or_discarded(answer: str, title: str | None) -> None:
    assert short_title(answer) == title
