"""What an agent learns from a person by SMS is known in the app, and the other way round."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from skein.models.api.directory import NewUser
from skein.models.chats.summary import Summary
from skein.models.common.base import NamedMember
from skein.models.common.storage import Update
from skein.models.delivery.sms import InboundSms
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import Audience
from skein.settings import Settings
from tests.support.builders import LINE, PHONE, TENANT, World, bot, person
from tests.support.number_codes import link_number

DANA, EVE, COACH = person("usr_dana", "Dana"), person("usr_eve", "Eve"), bot()
EVES_PHONE = "+15005550101"
APP, EVES_APP, GROUP, OPEN_GROUP = "chat_app", "chat_eve", "chat_group", "chat_open"
DOG, QUESTION, ANSWER = "My dog is called Rex", "What is my dog called?", "Rex"
MEMORY = "Dana's dog is called Rex."


def _world(recall_tokens: int = 1_000) -> World:
    """Dana and Eve text the same line, have the same agent in the app, and share two groups."""
    world = World(Settings(conversation_gap_minutes=30, recall_tokens=recall_tokens))
    world.agent()
    world.line()
    for who, phone in ((DANA, PHONE), (EVE, EVES_PHONE)):
        world.app.users.create(TENANT, NewUser(id=who.id, name=who.name, phones=(phone,)))
    default: dict[str, Any] = {"consolidate": None}
    direct: dict[str, Any] = {"kind": "direct", "visibility": "private", "title": None} | default
    world.chat(DANA, COACH, chat_id=APP, **direct)
    world.chat(EVE, COACH, chat_id=EVES_APP, **direct)
    world.chat(DANA, EVE, COACH, chat_id=GROUP, visibility="private", respond="every", **default)
    world.chat(DANA, EVE, COACH, chat_id=OPEN_GROUP, respond="every", **default)
    return world


def _sms(world: World, text: str, phone: str = PHONE) -> str:
    """Receive an SMS and play what follows; returns the id of its chat."""
    fields = {"account_sid": "AC1", "sender": phone, "recipient": LINE, "body": text}
    sms = InboundSms.model_validate(fields | {"message_sid": f"SM{world.ids.ulid()}"})
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    world.drain()
    return posted.message.chat_id


def _hours_pass(world: World, hours: int) -> None:
    """Let hours pass; the tick and the finder do what falls due, all of it in the first hours."""
    soon = [1_800] * min(2 * hours, 6)
    for seconds in (*soon, 3_600 * hours - sum(soon)):
        world.clock.advance(seconds)
        world.tick()
        world.find_quiet()
        world.drain()


def _prompt(world: World, text: str, sender: NamedMember, chat_id: str) -> str:
    """The whole prompt with which the agent answers a message in the app."""
    world.post(text, sender, chat_id=chat_id)
    world.drain()
    return _newest(world)


def _newest(world: World) -> str:
    return "\n".join(message.content for message in world.model.requests[-1].messages)


def _prompts_of_others(world: World) -> dict[str, str]:
    """The prompts of everybody else who may meet the agent, and of Dana among others."""
    _sms(world, QUESTION, EVES_PHONE)
    found = {"SMS of Eve": _newest(world)}
    for sender, chat_id in ((EVE, EVES_APP), (DANA, GROUP), (EVE, GROUP), (DANA, OPEN_GROUP)):
        found[f"{sender.name} in {chat_id}"] = _prompt(world, QUESTION, sender, chat_id)
    return found


def _of_the_dog(answer: dict[str, object]) -> Callable[[ModelRequest], str]:
    """An answer about the dog, if the question is about the chat with the dog."""
    nothing = {"lines": ["Nothing.", "Nothing."], "summary": "Nothing.", "journal": [], "core": []}

    def answered(request: ModelRequest) -> str:
        told = "\n".join(message.content for message in request.messages)
        return json.dumps(nothing | (answer if "Rex" in told else {}))

    return answered


WAYS: dict[str, dict[str, object]] = {
    "memory": {"core": [MEMORY]},
    "agent summary": {"lines": [MEMORY, "Nothing is open."]},
    "chat summary": {"summary": MEMORY},
    "recall": {},
}
"""Ways by which words reach a prompt, with what a model answers; recall is off in the others."""


def _world_of(way: str) -> World:
    world = _world() if way == "recall" else _world(recall_tokens=0)
    world.model.summaries.extend([_of_the_dog(WAYS[way])] * 50)
    world.model.memories.extend([_of_the_dog(WAYS[way])] * 50)
    return world


@pytest.mark.parametrize("way", WAYS)
def test_sms_content_is_available_30_hours_later_in_the_persons_app_chat_only(way: str) -> None:
    world = _world_of(way)
    _sms(world, DOG)
    _hours_pass(world, 30)
    for where, prompt in _prompts_of_others(world).items():
        assert ANSWER not in prompt, where
    assert ANSWER in _prompt(world, QUESTION, DANA, APP)


@pytest.mark.parametrize("way", WAYS)
def test_words_in_the_app_are_known_by_sms_after_30_hours(way: str) -> None:
    world = _world_of(way)
    if way == "agent summary":
        _sms(world, "Hi")  # an agent summary is made only while another chat can show it
    world.post(DOG, DANA, chat_id=APP)
    world.drain()
    _hours_pass(world, 30)
    _sms(world, QUESTION)
    assert ANSWER in _newest(world)


@pytest.mark.parametrize("way", ["memory", "chat summary"])
def test_words_of_the_last_session_are_known_in_the_next_one_of_the_same_chat(way: str) -> None:
    world = _world_of(way)
    _sms(world, DOG)
    _hours_pass(world, 30)
    _sms(world, QUESTION)
    assert DOG not in _newest(world)
    assert ANSWER in _newest(world)


def test_words_of_the_last_session_are_recalled_in_the_next_one_of_the_same_chat() -> None:
    world = _world_of("recall")
    _sms(world, DOG)
    _hours_pass(world, 30)
    _sms(world, QUESTION)
    assert "RECALLED" in _newest(world)
    assert DOG in _newest(world)


@pytest.mark.parametrize("hours", [0, 30])
def test_words_before_a_reset_are_recalled_in_no_chat_of_the_person(hours: int) -> None:
    world = _world_of("recall")
    _sms(world, DOG)
    _hours_pass(world, 1)
    _sms(world, "start over")
    _hours_pass(world, hours)
    assert ANSWER not in _prompt(world, QUESTION, DANA, APP)
    _sms(world, QUESTION)
    assert ANSWER not in _newest(world)


def test_words_elsewhere_before_a_reset_are_not_recalled_in_later_sessions() -> None:
    world = _world_of("recall")
    _sms(world, DOG)
    _hours_pass(world, 1)
    for text in ("start over", "Hello", "Hello again"):
        world.post(text, DANA, chat_id=APP)
        world.drain()
        _hours_pass(world, 1)
    assert ANSWER not in _prompt(world, QUESTION, DANA, APP)


def test_words_elsewhere_after_a_reset_are_recalled() -> None:
    world = _world_of("recall")
    world.post("start over", DANA, chat_id=APP)
    world.drain()
    _hours_pass(world, 1)
    _sms(world, DOG)
    _hours_pass(world, 1)
    assert ANSWER in _prompt(world, QUESTION, DANA, APP)


def test_prompt_says_how_old_the_last_session_elsewhere_is() -> None:
    world = _world()
    world.model.summaries.extend([_of_the_dog(WAYS["chat summary"])] * 50)
    _sms(world, DOG)
    _hours_pass(world, 30)
    prompt = _prompt(world, QUESTION, DANA, APP)
    assert f'LAST CONVERSATION (30 h ago, in "phone chat with Dana"):\n  "{MEMORY}"' in prompt


def test_last_session_elsewhere_is_not_shown_once_the_active_chat_had_a_later_one() -> None:
    world = _world()
    world.model.summaries.extend([_of_the_dog(WAYS["chat summary"])] * 50)
    _sms(world, DOG)
    _hours_pass(world, 1)
    _prompt(world, "Hello", DANA, APP)
    _hours_pass(world, 1)
    assert "LAST CONVERSATION" not in _prompt(world, QUESTION, DANA, APP)


def test_last_session_elsewhere_is_not_shown_after_a_reset_that_came_later() -> None:
    world = _world()
    world.model.summaries.extend([_of_the_dog(WAYS["chat summary"])] * 50)
    _sms(world, DOG)
    _hours_pass(world, 1)
    world.post("start over", DANA, chat_id=APP)
    world.drain()
    assert ANSWER not in _prompt(world, QUESTION, DANA, APP)


def test_last_session_elsewhere_holds_no_words_from_before_a_reset_there() -> None:
    world = _world()
    world.model.summaries.extend([_of_the_dog(WAYS["chat summary"])] * 50)
    _sms(world, DOG)
    _hours_pass(world, 1)
    _sms(world, "start over")
    assert ANSWER not in _prompt(world, QUESTION, DANA, APP)


def test_words_by_sms_before_the_number_was_linked_are_known_in_the_app() -> None:
    world = _world(recall_tokens=0)
    world.app.phone_links.unlink(TENANT, DANA.id, PHONE)
    world.model.memories.extend([_of_the_dog(WAYS["memory"])] * 50)
    world.model.summaries.extend([_of_the_dog({})] * 50)
    _sms(world, DOG)
    _hours_pass(world, 1)
    link_number(world, DANA.id, PHONE)
    _hours_pass(world, 29)
    assert ANSWER in _prompt(world, QUESTION, DANA, APP)


def test_agent_summaries_of_three_newest_other_chats_are_shown_at_any_age() -> None:
    world = _world()
    titles = [f"Chat {number}" for number in range(5)]
    for number, title in enumerate(titles):
        world.chat(DANA, EVE, COACH, chat_id=f"chat_{number}", title=title, respond="manual")
        for text in ("Hello", "Hello again"):
            world.post(text, DANA, chat_id=f"chat_{number}")
        _hours_pass(world, 24)
    prompt = _prompt(world, QUESTION, DANA, APP)
    section = prompt.split("OTHER ACTIVE CONVERSATIONS:\n")[1].split("\n\n")[0]
    shown = [line.split('"')[1] for line in section.splitlines()]
    assert shown == ["Chat 4", "Chat 3", "Chat 2"]
    assert '"Chat 2", 3 days ago:' in section


def test_agent_summaries_older_than_six_hours_are_not_shown_in_a_group() -> None:
    world = _world()
    for text in ("Hello", "Hello again"):
        world.post(text, DANA, chat_id=OPEN_GROUP)
    world.drain()
    _hours_pass(world, 7)
    assert "OTHER ACTIVE CONVERSATIONS" not in _prompt(world, QUESTION, DANA, GROUP)


def _with_eve(world: World, audience: Audience) -> None:
    """A direct chat that Dana and Eve have read, with a summary for an audience."""
    direct = {"kind": "direct", "visibility": "private", "consolidate": None}
    chat = world.chat(DANA, EVE, COACH, chat_id="chat_both", respond="manual", **direct)
    world.post("Hello", EVE, chat_id=chat.id)
    record = Summary(text=MEMORY, from_seq=1, seq=1, audience=audience, at=world.clock.now())
    world.table.write(Update(chat.key, set={"summary": record.model_dump(mode="json")}))


@pytest.mark.parametrize(("people", "shown"), [((DANA, EVE), True), ((EVE,), False)])
def test_last_session_elsewhere_is_shown_only_to_its_audience(
    people: tuple[NamedMember, ...], shown: bool
) -> None:
    world = _world()
    _with_eve(world, Audience(open=False, people=tuple(who.id for who in people)))
    assert (ANSWER in _prompt(world, QUESTION, DANA, APP)) is shown
