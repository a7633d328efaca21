"""A person whose words, id, name and number are everywhere, and how to look for them."""

import json
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

from skein.models.api.directory import NewUser
from skein.models.common.storage import Item, Key, Put
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import RecallJob
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.privacy.models.erasure import Erasure, NamedTexts
from tests.support.agents import COACH, DESIGNER, actor
from tests.support.agents import settle as settle_at_once
from tests.support.api_client import everything
from tests.support.builders import LINE, LONG_INVOCATION, TENANT, World, person
from tests.support.fakes import ScriptedModel, calls
from tools.stack.restore_erasures import Restoration

ZOE = person("usr_zq7", "Zoë Quill")
BEN = person("usr_ben", "Ben")
NUMBER = "+15005550177"
MARK = "mango"
TRACES = (ZOE.id, "Quill", "5005550177", MARK)

OPEN, PRIVATE, ELSEWHERE = "chat_open", "chat_priv", "chat_else"
BENS = "chat_bens"


def settle(world: World) -> None:
    """Let the answers to texts begin, and all come to rest."""
    world.clock.advance(5)
    settle_at_once(world)


def unpacked(name: str, value: Any) -> Any:
    if name == "steps":  # of a recall block
        return value.hex()
    return zlib.decompress(value).decode() if isinstance(value, bytes) else value


def lines_of(world: World) -> Iterator[tuple[str, str]]:
    """Each item's key, and everything that it holds."""
    for key, item in everything(world).items():
        told = {name: unpacked(name, value) for name, value in item.items()}
        yield str(key), f"{key} {json.dumps(told, default=str, ensure_ascii=False)}"


def traces(world: World, *more: str) -> dict[str, list[str]]:
    """Where the person can still be found, and by what; of their erasure, the id may stay."""
    found = {}
    for key, text in lines_of(world):
        held = [trace for trace in (*TRACES, *more) if trace in text]
        if held and not ("#ERASURES" in key and held == [ZOE.id] and "SUBJECT" not in key):
            found[key] = held
    return found


def erase(world: World, named_texts: NamedTexts = "keep") -> Erasure:
    """Ask for it, and let it come to its end."""
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op", named_texts=named_texts)
    settle(world)
    return end(world, erasure)


def end(world: World, erasure: Erasure) -> Erasure:
    for _ in range(4):
        world.clock.advance(1_000)
        world.tick()
        settle(world)
        erasure = world.app.erasures.get(TENANT, erasure.id)
        if erasure.stage == "done":
            return erasure
    raise AssertionError(f"it never ends: {erasure}")


def world_of(*script: Any) -> World:
    """Zoë has an id, a number and a profile; Coach, who answers her, has all tools."""
    world = World(model=ScriptedModel.saying(*script, default=calls("end_run")))
    actor(world)
    actor(world, DESIGNER)
    world.line()
    world.app.users.create(
        TENANT, NewUser(id=ZOE.id, name=ZOE.name, phones=(NUMBER,), profile={"goals": MARK})
    )
    return world


def text(world: World, body: str, sid: str = "SM1") -> str:
    """Zoë texts; returns the chat."""
    sms = InboundSms(account_sid="AC1", message_sid=sid, sender=NUMBER, recipient=LINE, body=body)
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    return posted.message.chat_id


def summed_up(world: World) -> None:
    """Let the model sum up and remember in the words that it is told."""

    def word(request: ModelRequest) -> str:
        told = "\n".join(message.content for message in request.messages)
        said = MARK if MARK in told else "nothing of note"
        return f"{said} in private" if "In private" in told else said

    def summary(request: ModelRequest) -> str:
        said = word(request)
        return json.dumps({"lines": [f"{said} here.", "Open."], "summary": f"About {said}."})

    def memory(request: ModelRequest) -> str:
        said = word(request)
        return json.dumps({"journal": [f"{said} was said."], "core": [f"They love {said}."]})

    world.model.summaries.extend([summary] * 100)
    world.model.memories.extend([memory] * 100)


def indexed(world: World) -> None:
    """Index all chats for recall."""
    world.known(BEN)  # chats are found through their people
    deadline = world.clock.now() + LONG_INVOCATION
    world.app.recall_worker.take(RecallJob(tenant=TENANT), deadline=deadline)
    settle(world)


def group(world: World, chat_id: str, *people: Any, **fields: Any) -> None:
    world.chat(*people, COACH, chat_id=chat_id, **({"respond": "mention"} | fields))


def plant() -> World:
    """Marked words in every place that they can come to, through the real doors.

    The world is set up once, and each caller gets a copy, in which nothing has been asked or sent.
    """
    world = world_of()
    summed_up(world)
    return world.continue_from(_planted())


@cache
def _planted() -> World:
    world = world_of()
    summed_up(world)
    group(world, OPEN, ZOE, BEN, DESIGNER, consolidate=True)
    group(world, PRIVATE, ZOE, BEN, visibility="private", consolidate=True)
    group(world, ELSEWHERE, BEN, consolidate=True)
    world.chat(BEN, COACH, chat_id=BENS, kind="direct", visibility="private")
    world.post("Good morning all", BEN, chat_id=OPEN)
    world.post(f"I love {MARK}", ZOE, chat_id=OPEN)
    world.post(f"In private: {MARK}", ZOE, chat_id=PRIVATE)
    kept: list[str | tuple[str, dict[str, Any] | str]] = [
        ("set_goal", {"text": f"Find {MARK}"}),
        ("set_plan", {"name": f"{MARK}-plan", "instruction": f"Buy {MARK}", "run_after": "1 hour"}),
        ("save_memory", {"text": f"Likes {MARK}", "kind": "core"}),
        ("write_document", {"name": f"{MARK}.md", "text": f"All about {MARK}", "in_chat": True}),
        ("write_document", {"name": f"my {MARK}.md", "text": f"All about {MARK}"}),
        ("create_thread", {"concern": f"Find {MARK}"}),
        ("send_message", {"text": "What of fruit?", "chat_id": ELSEWHERE}),
        ("send_message", {"text": "Yes"}),
    ]
    for chat_id in (OPEN, PRIVATE):
        world.model.script.append(calls(*kept, "end_run"))
        world.post(f"@Coach remember {MARK}", ZOE, chat_id=chat_id)
        settle(world)
    for chat_id in (ELSEWHERE, BENS):
        lent = [("borrow_context", {"chat_id": each}) for each in (OPEN, PRIVATE)]
        world.model.script.append(calls(*lent, "end_run"))
        world.post("@Coach what is up in the other chats?", BEN, chat_id=chat_id)
        settle(world)
    world.model.script.append(calls(*kept, "end_run"))
    text(world, f"Text me about {MARK}")
    settle(world)
    for _ in range(3):
        world.clock.advance(400)
        world.tick()
        settle(world)
    world.hours_pass(8)
    for_zoe = Owner(
        tenant=TENANT,
        agent_id=COACH.id,
        scope=f"user:{ZOE.id}",
        audience=Audience(open=False, people=(ZOE.id,)),
    )
    world.app.memories.add(for_zoe, f"She loves {MARK}", "core", made_by="api")
    return world


def backup(world: World) -> dict[Key, Item]:
    """Return a copy of the table, as a backup has it."""
    return dict(everything(world))


def restored(old: World, items: dict[Key, Item]) -> World:
    """The stack on a table of the backup, with the register of now and later times."""
    world = World(overrides={"erasure_register": old.register})
    world.register = old.register
    world.clock.advance((old.clock.now() - world.clock.now()).total_seconds())
    for key, item in items.items():
        world.table.write(Put(key, item))
    return world


def restoration(world: World, said: list[str] | None = None) -> Restoration:
    """The command that applies the register to a restored table, in large steps of time."""
    lines: list[str] = [] if said is None else said

    def sleep(_seconds: float) -> None:
        world.clock.advance(1_000)

    return Restoration(world.app.ports, report=lines.append, sleep=sleep)
