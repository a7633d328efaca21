"""Private content is never shown outside its audience, whatever is derived from it.

A word is planted in one person's private chat in every form that it can take there. Then the agent
is asked for it everywhere else; it looks for it with all its tools, and says whatever it finds.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from skein.models.api.chats import ChatResource
from skein.models.chats.chat import Chat
from skein.models.common.address import phone_address
from skein.models.common.base import NamedMember
from skein.models.common.storage import Update
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.runs.completion import ModelRequest
from tests.support.agents import COACH, DESIGNER, asked_by_service, results_of, settle, stage
from tests.support.api_client import Client
from tests.support.builders import LINE, PHONE, TENANT, World, person
from tests.support.fakes import Said, calls

WORD = "mango"
PLAN = f"The {WORD}-plan"
ANN, BEN = person("usr_ann", "Ann"), person("usr_ben", "Ben")
BENS_PHONE = "+15005550199"
RELAY = "chat_relay"  # a private group of Ann alone, in which the agent is to post
COOLDOWN = 301
PRIVATE = {"visibility": "private", "respond": "mention"}
DIRECT = {"visibility": "private", "kind": "direct"}
GROUP = {"respond": "mention"}


class Spied:
    """A world in which the word is planted in a private chat; from then on the agent spies.

    Attributes:
        source: The chat in which it was planted.
        told: Every prompt and tool result that the agent was shown while it spied.
    """

    def __init__(self, world: World, source: str) -> None:
        self.world = world
        self.source = source
        self.told: list[str] = []

    def spy(self, request: ModelRequest) -> Said:
        """Look everywhere, then say the word if it stands anywhere."""
        everything = "\n".join(message.content for message in request.messages)
        self.told.append(everything)
        steps = sum(message.role == "assistant" for message in request.messages)
        if steps == 0:
            return calls(
                ("get_my_runs", {"limit": 50}),
                ("search_memories", {"query": f"{WORD} secret", "limit": 50}),
                ("borrow_context", {"chat_id": self.source}),
                ("read_messages", {"chat_id": self.source}),
            )
        if steps == 1:
            said = f"It is {WORD}." if WORD in everything else "I do not know."
            return calls(("send_message", {"text": said}), ("enter_chat", {"chat_id": self.source}))
        return calls("end_run")

    def ask(self, chat_id: str, who: NamedMember) -> str:
        """Ask for it twice, since borrowed context comes with the second turn.

        Returns:
            All that was shown to the agent for it, and all that can be read in the chat.
        """
        self.told.clear()
        summaries = len(self.world.model.summary_requests)
        for _ in range(2):
            depth = 1 if who.kind == "agent" else 0
            question = "@Coach, what is Ann's secret?"
            self.world.post(question, who, chat_id=chat_id, depth=depth)
            settle(self.world)
            self.world.clock.advance(COOLDOWN)
            self.world.tick()
            settle(self.world)
        made = self.world.model.summary_requests[summaries:]
        return "\n".join([*self.told, *map(_content, made), *self.readable(chat_id)])

    def readable(self, chat_id: str) -> list[str]:
        """What the chat's people can read, and what stands for it elsewhere."""
        chat = self.world.stored_chat(chat_id)
        membership = self.world.membership(COACH, chat_id)
        note = membership.summary.text if membership.summary else ""
        resource = ChatResource.of(chat).model_dump_json()
        texts = [message.text for message in self.world.messages(chat_id)]
        people = [member for member in chat.roster if member.kind == "user"]
        views = [_views(self.world, who, chat_id) for who in people]
        return [*texts, note, resource, *views]


def _content(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


def _views(world: World, who: NamedMember, chat_id: str) -> str:
    """All that somebody can read of a chat through the API."""
    client = Client(world, sub=who.id)
    paths = (f"/v1/chats/{chat_id}", f"/v1/chats/{chat_id}/messages")
    return json.dumps([client.get(path).body for path in paths])


def _leaks(*texts: str) -> list[str]:
    """The lines that hold the word."""
    return [line for text in texts for line in text.splitlines() if WORD in line]


def _echo(request: ModelRequest) -> str:
    """A summary that keeps the word if it was told."""
    word = WORD if WORD in _content(request) else "nothing"
    return json.dumps(
        {"lines": [f"The note: {word}.", "It is open."], "summary": f"The record: {word}."}
    )


def _text(world: World, phone: str, body: str) -> str:
    """Somebody texts; returns their chat."""
    sid = f"SM{world.ids.ulid()}"
    sms = InboundSms(account_sid="AC1", message_sid=sid, sender=phone, recipient=LINE, body=body)
    world.app.sms_receiver.receive(sms)
    item = world.table.get(AddressChat.key_of(TENANT, phone_address(phone), phone_address(LINE)))
    assert item is not None
    return AddressChat.from_item(item).chat_id


def _owner(world: World, phone: str) -> NamedMember:
    item = world.table.get(AddressOwner.key_of(TENANT, phone_address(phone)))
    assert item is not None
    return person(AddressOwner.from_item(item).user_id)


def _plant(world: World, chat_id: str, ask: Callable[[str], object]) -> None:
    """Plant the word as message, goal, memory, plan, preview, origin, title, note and record."""
    world.table.write(Update(Chat.key_of(TENANT, chat_id), set={"title": f"On {WORD}"}))
    world.model.script.append(
        calls(
            ("set_goal", {"text": f"Never forget: {WORD}"}),
            ("save_memory", {"text": f"Ann loves {WORD}", "kind": "core"}),
            ("save_memory", {"text": f"Ann ate a {WORD}", "kind": "journal"}),
            ("set_plan", {"name": PLAN, "instruction": PLAN, "run_after": "2 hours"}),
            ("send_message", {"text": f"I shall keep {WORD} to myself"}),
            ("send_message", {"text": "Ann says hello", "chat_id": RELAY}),
            "end_run",
        )
    )
    ask(f"@Coach, my secret is {WORD}. Greet the others.")
    settle(world)
    world.model.summaries.extend([_echo] * 1_000)
    world.table.write(Update(Chat.key_of(TENANT, chat_id), set={"respond": "manual"}))
    for n in range(10):
        ask(f"By the way {n}, it is {WORD}")
    settle(world)
    world.clock.advance(COOLDOWN)
    world.tick()
    settle(world)
    record, note = world.stored_chat(chat_id).summary, world.membership(COACH, chat_id).summary
    assert record is not None
    assert note is not None
    assert WORD in record.text
    assert WORD in note.text
    assert not any(WORD in message.text for message in world.messages(RELAY))
    assert any(WORD in message.origin.text for message in world.messages(RELAY) if message.origin)


def _spying(planted: World, source: str) -> Spied:
    """Let the agent spy in a copy of a world in which the word is planted."""
    world = stage().continue_from(planted)
    world.model.summaries.extend([_echo] * 1_000)
    spied = Spied(world, source)
    world.model.default = spied.spy
    return spied


@pytest.fixture
def spied() -> Spied:
    """Ann has texted her secret; she and Ben are in many other chats with the same agent."""
    return _spying(*_texted())


@cache
def _texted() -> tuple[World, str]:
    world = stage()
    world.line(COACH.id)
    source = _text(world, PHONE, "Hello")
    settle(world)
    _text(world, BENS_PHONE, "Hello")
    settle(world)
    ann, ben = _owner(world, PHONE), _owner(world, BENS_PHONE)
    world.chat(ann, ben, COACH, chat_id="chat_group", title="Group", **GROUP)
    world.chat(ann, ben, COACH, chat_id="chat_pair", title="Pair", **PRIVATE)
    world.chat(ann, COACH, chat_id=RELAY, title="Relay", **PRIVATE)
    world.chat(ann, COACH, chat_id="chat_alone", title="Alone", **GROUP)
    world.chat(COACH, DESIGNER, chat_id="chat_agents", title="Agents", **PRIVATE)
    world.chat(ben, COACH, chat_id="chat_ben", title="Ben", **DIRECT)
    world.chat(ann, COACH, chat_id="chat_ann", title="Ann", **DIRECT)

    def ask(text: str) -> None:
        _text(world, PHONE, text)

    _plant(world, source, ask)
    return world, source


def test_author_of_a_secret_sees_it_in_other_chats(spied: Spied) -> None:
    """Otherwise the tests below would prove nothing."""
    found = spied.ask("chat_ann", _owner(spied.world, PHONE))
    for form in (
        f"my secret is {WORD}",
        f'"Never forget: {WORD}"',
        f': "Ann loves {WORD}"',
        f'"Ann ate a {WORD}',
        PLAN,
        f"I shall keep {WORD} to myself",
        f"On {WORD}",
        f"The note: {WORD}.",
        "BORROWED CONTEXT:",
        f"It is {WORD}.",
    ):
        assert form in found, form
    assert (
        f"The record: {WORD}."
        in ChatResource.of(spied.world.stored_chat(spied.source)).model_dump_json()
    )


@pytest.mark.parametrize(
    ("chat_id", "who"),
    [
        ("chat_ben", "ben"),
        ("chat_group", "ben"),
        ("chat_group", "ann"),
        ("chat_pair", "ben"),
        ("chat_pair", "ann"),
        ("chat_alone", "ann"),
        ("chat_agents", "designer"),
    ],
)
def test_private_secret_is_shown_in_no_other_chat(spied: Spied, chat_id: str, who: str) -> None:
    phones = {"ben": BENS_PHONE, "ann": PHONE}
    asker = _owner(spied.world, phones[who]) if who in phones else DESIGNER
    found = spied.ask(chat_id, asker)
    assert "what is Ann's secret?" in found
    assert "that chat is private" in found or "chat not found" in found
    assert _leaks(found) == []


def test_private_secret_is_not_sent_to_another_phone(spied: Spied) -> None:
    for _ in range(2):
        chat_id = _text(spied.world, BENS_PHONE, "@Coach, what is Ann's secret?")
        settle(spied.world)
    assert spied.told
    assert _leaks(*spied.told, *spied.readable(chat_id)) == []
    sent = [text.body for text, taken in spied.world.sms.taken if text.phone == BENS_PHONE]
    assert sent
    assert not any(WORD in body for body in sent)


def test_run_without_a_chat_does_not_show_the_secret(spied: Spied) -> None:
    asked_by_service(spied.world)
    settle(spied.world)
    assert spied.told
    assert _leaks(*spied.told) == []


def test_plan_of_private_chat_leaks_no_content_to_other_chats(spied: Spied) -> None:
    """Its run is shown Ann's private chat, and may tell of it only in private chats with Ann."""
    world = spied.world
    chats = ("chat_ben", "chat_agents", "chat_group", "chat_alone", "chat_ann")
    tell = [("send_message", {"text": PLAN, "chat_id": chat_id}) for chat_id in chats]
    world.model.script.append(calls(*tell, ("read_messages", {"chat_id": spied.source})))
    world.clock.advance(3 * 3600)
    world.tick()
    settle(world)
    assert any(PLAN in line for line in _leaks(_content(world.model.requests[-2])))
    assert {chat_id for chat_id in chats if PLAN in "".join(world.texts(chat_id))} == {"chat_ann"}


@pytest.mark.parametrize("relay", ["chat_ben", "chat_agents"])
def test_second_agent_in_private_chat_cannot_post_its_secret_elsewhere(
    spied: Spied, relay: str
) -> None:
    world = spied.world
    world.table.write(Update(Chat.key_of(TENANT, spied.source), set={"respond": "every"}))
    world.model.script.append(
        calls(
            ("send_message", {"text": WORD, "chat_id": relay}), ("enter_chat", {"chat_id": relay})
        )
    )
    world.model.script.append(calls(("send_message", {"text": WORD})))
    _text(world, PHONE, "Tell everybody")
    settle(world)
    assert not any(WORD in text for text in world.texts(relay))


def test_origin_of_a_message_is_not_shown_in_its_chat(spied: Spied) -> None:
    """The greeting was asked for in Ann's chat, in words that Ben, who joins later, never sees."""
    ann, ben = _owner(spied.world, PHONE), _owner(spied.world, BENS_PHONE)
    spied.world.add(ben, by=ann, chat_id=RELAY)
    found = spied.ask(RELAY, ben)
    assert "Ann says hello" in found
    assert "sent because" not in found


# ---------------------------------------------------------------------- who comes and goes


def _group(*people: NamedMember, **fields: Any) -> tuple[World, Callable[[str], object]]:
    world = stage()
    world.chat(*people, COACH, chat_id="chat_source", title="WebhookService", **PRIVATE, **fields)
    world.chat(ANN, BEN, COACH, chat_id="chat_group", title="Group", **GROUP)
    world.chat(ANN, BEN, COACH, chat_id="chat_pair", title="Pair", **PRIVATE)
    world.chat(BEN, COACH, chat_id="chat_ben", title="Ben", **DIRECT)
    world.chat(ANN, COACH, chat_id=RELAY, title="Relay", **PRIVATE)
    return world, lambda text: world.post(text, ANN, chat_id="chat_source")


@cache
def _told_by_ann() -> World:
    world, ask = _group(ANN)
    _plant(world, "chat_source", ask)
    return world


@cache
def _told_after_ben_left() -> World:
    world, ask = _group(ANN, BEN)
    world.app.chat_admin.remove_member(TENANT, "chat_source", ANN.ref, BEN.ref)
    _plant(world, "chat_source", ask)
    return world


@pytest.mark.parametrize("chat_id", ["chat_ben", "chat_pair", "chat_group"])
def test_late_member_sees_nothing_from_before_the_join(chat_id: str) -> None:
    spied = _spying(_told_by_ann(), "chat_source")
    world = spied.world
    world.table.write(Update(Chat.key_of(TENANT, "chat_source"), set={"title": "WebhookService"}))
    world.known(BEN)
    world.add(BEN, by=ANN, chat_id="chat_source")
    found = spied.ask(chat_id, BEN)
    assert _leaks(found) == []


def test_items_made_after_join_contain_nothing_from_before() -> None:
    world = _spying(_told_by_ann(), "chat_source").world
    world.table.write(Update(Chat.key_of(TENANT, "chat_source"), set={"title": "WebhookService"}))
    world.known(BEN)
    world.add(BEN, by=ANN, chat_id="chat_source")
    assert Client(world, sub=BEN.id).get("/v1/chats/chat_source").body["summary"] is None
    for n in range(3):
        world.post(f"Welcome {n}", ANN, chat_id="chat_source")
    world.clock.advance(COOLDOWN)
    before = len(world.model.summary_requests)
    world.tick()
    settle(world)
    made = world.model.summary_requests[before:]
    assert len(made) == 2
    assert WORD not in "\n".join(map(_content, made))
    note, record = (
        world.membership(COACH, "chat_source").summary,
        world.stored_chat("chat_source").summary,
    )
    assert note is not None
    assert record is not None
    assert note.audience.people == record.audience.people == (ANN.id, BEN.id)
    assert WORD not in note.text + record.text


def test_late_member_cannot_learn_earlier_document_names() -> None:
    """Whatever they let the agent write, it is told the same for a name that is taken."""
    world, ask = _group(ANN)
    for in_chat in (True, False):
        written = {"name": WORD, "text": "x", "in_chat": in_chat}
        world.model.script.extend([calls(("write_document", written)), calls("end_run")])
        ask("@Coach, write")
        settle(world)
    world.known(BEN)
    world.add(BEN, by=ANN, chat_id="chat_source")
    tried: list[list[tuple[str, str]]] = []
    for name in (WORD, "kiwi"):
        doings = (
            ("read_document", {"name": name}),
            ("append_document", {"name": name, "text": "y"}),
            ("delete_document", {"name": name}),
            ("write_document", {"name": name, "text": "y", "in_chat": True}),
            ("write_document", {"name": f"{name} (2)", "text": "y", "in_chat": True}),
            ("write_document", {"name": name, "text": "y"}),
        )
        world.model.script.extend([calls(*doings), calls("end_run")])
        world.post("@Coach, go on", BEN, chat_id="chat_source")
        settle(world)
        newest = max(world.runs("chat_source"), key=lambda run: run.id)
        results = results_of(world, newest)[: len(doings)]
        tried.append([(each.status, each.content.replace(name, "_")) for each in results])
    assert tried[0] == tried[1]
    assert [status for status, _ in tried[0]] == ["failed"] * 3 + ["done"] * 3


@pytest.mark.parametrize("chat_id", ["chat_ben", "chat_pair", "chat_group"])
def test_former_member_sees_nothing_from_after_leaving(chat_id: str) -> None:
    spied = _spying(_told_after_ben_left(), "chat_source")
    assert _leaks(spied.ask(chat_id, BEN)) == []


def test_returning_member_sees_nothing_from_the_time_between() -> None:
    spied = _spying(_told_after_ben_left(), "chat_source")
    world = spied.world
    world.table.write(Update(Chat.key_of(TENANT, "chat_source"), set={"title": "WebhookService"}))
    world.known(BEN)
    world.add(BEN, by=ANN, chat_id="chat_source")
    assert _leaks(spied.ask("chat_ben", BEN)) == []
