"""Each message is in a prompt once: RECALLED leaves out what another section shows."""

from datetime import timedelta
from typing import Any

import pytest

from skein.memory.models.memory import Memory
from skein.models.chats.summary import Summary
from skein.models.common.storage import Put, Update
from skein.models.items.agent_item import AgentItem
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.provenance import MadeFrom
from skein.planning.models.plan import Plan
from skein.settings import Settings
from tests.support.agents import AHMAD, COACH, END, HUSAM, settle, stage
from tests.support.builders import NOON, TENANT, World
from tests.support.fakes import calls, says
from tests.support.recalling import DEPOSIT, indexed

FLAT = "chat_flat"
OWNER: dict[str, Any] = {
    "tenant": TENANT,
    "agent_id": COACH.id,
    "audience": OPEN,
    "created_at": NOON,
}


def _section(world: World, name: str) -> str:
    prompt = "\n\n".join(one.content for one in world.model.requests[-1].messages)
    return next((part for part in prompt.split("\n\n") if part.startswith(name)), "")


def test_borrowed_messages_are_not_recalled_and_their_chat_has_one_heading() -> None:
    world = stage(calls(("borrow_context", {"chat_id": FLAT})), END, END)
    world.chat(HUSAM, COACH, chat_id=FLAT, title="Flat", respond="manual")
    world.chat(HUSAM, COACH)
    world.post(DEPOSIT, HUSAM, chat_id=FLAT)
    world.post("Noted", HUSAM, chat_id=FLAT)
    indexed(world, FLAT)
    settle(world)
    world.post("How high is the deposit for the flat?", HUSAM)
    settle(world)
    assert DEPOSIT in _section(world, "RECALLED")
    world.post("How high is the deposit for the flat?", HUSAM)
    settle(world)
    assert DEPOSIT in _section(world, "BORROWED CONTEXT")
    assert _section(world, "RECALLED") == ""
    assert '"Flat",' not in _section(world, "OTHER ACTIVE CONVERSATIONS")


def test_message_that_a_wait_elsewhere_goes_back_to_is_shown_once() -> None:
    question = "How high is the deposit that the landlord wants for the flat?"
    world = stage(says("The landlord's deposit for the flat?", wait=True, chat_id=FLAT), END)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id=FLAT, title="Flat")
    world.post(question, HUSAM)
    indexed(world, "chat_1")
    settle(world)
    world.post("The deposit for the flat is 1450", AHMAD, chat_id=FLAT)
    settle(world)
    assert f'message: "{question}"' in _section(world, "TRIGGER")
    assert question not in _section(world, "RECALLED")


@pytest.mark.parametrize(
    ("summary", "again"),
    [
        ("The landlord of the flat in Hafen wants a deposit of 1450 euros.", False),
        ("They talked about the deposit for the flat in Hafen.", True),
    ],
)
def test_last_conversation_replaces_recalled_messages_whose_words_it_has(
    summary: str, again: bool
) -> None:
    world = stage()
    direct = {"kind": "direct", "visibility": "private", "respond": "manual"}
    world.chat(HUSAM, COACH, chat_id=FLAT, title="Flat", **direct)
    world.chat(HUSAM, COACH, **(direct | {"respond": "every"}))
    world.post(DEPOSIT, HUSAM, chat_id=FLAT)
    indexed(world, FLAT)
    settle(world)
    private = Audience(open=False, people=(HUSAM.id,))
    made = Summary(text=summary, from_seq=1, seq=1, audience=private, at=NOON)
    stored = made.model_dump(mode="json", exclude_none=True)
    world.table.write(Update(world.stored_chat(FLAT).key, set={"summary": stored}))
    world.post("How high is the deposit for the flat?", HUSAM)
    settle(world)
    assert summary in _section(world, "LAST CONVERSATION")
    assert (DEPOSIT in _section(world, "RECALLED")) == again


def _remembered(text: str, chat_id: str, *seqs: int, **fields: Any) -> Memory:
    """A journal entry that a consolidation made from messages of a chat."""
    first, last = min(seqs), max(seqs)
    values = OWNER | {"kind": "journal", "made_by": "consolidation"} | fields
    made = MadeFrom.messages(chat_id, first, last, [HUSAM.id])
    return Memory(**values, id=f"mem_{first}{last}{values['made_by']}", text=text, made_from=made)


def _put(world: World, *items: AgentItem) -> None:
    for item in items:
        world.table.write(Put(item.key, item.to_item()))


def test_memory_gives_way_to_the_messages_that_it_was_made_from() -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    _put(
        world,
        _remembered("Husam went to the lake.", "chat_1", 1, 2),
        _remembered("Husam wants to see a film.", FLAT, 1, 3),
        _remembered("Husam likes lakes.", "chat_1", 1, made_by="tool"),
    )
    world.post("I walked to the lake", HUSAM)
    settle(world)
    world.post("What did I do?", HUSAM)
    settle(world)
    journal = _section(world, "JOURNAL")
    assert "went to the lake" not in journal
    assert "see a film" in journal
    assert "likes lakes" in journal, "the agent would save it again"


def test_memory_is_shown_if_there_is_no_room_for_its_messages() -> None:
    world = stage(settings=Settings(max_context_tokens=300))
    world.chat(HUSAM, COACH)
    _put(world, _remembered("Husam went to the lake.", "chat_1", 1))
    world.post("I walked to the lake " + "slowly " * 400, HUSAM)
    settle(world)
    world.post("What did I do?", HUSAM)
    settle(world)
    assert "went to the lake" in _section(world, "JOURNAL")


def test_memory_gives_way_to_the_plan_that_keeps_it() -> None:
    world = stage()
    world.chat(HUSAM, COACH)
    text = "Husam asked to be reminded on 2026-02-19 at 09:00 UTC to water the plants."
    _put(
        world,
        _remembered(text, FLAT, 1, 4),
        _remembered("Husam asked to be reminded to water the roof.", FLAT, 1, 5),
        Plan(
            **OWNER,
            id="plan_1",
            name="Plants",
            instruction="Remind Husam to water the plants.",
            scheduled_at=NOON + timedelta(hours=21),
            next_at=NOON + timedelta(hours=21),
            made_from=MadeFrom.messages(FLAT, 1, 1, [HUSAM.id]),
        ),
    )
    world.post("What is open?", HUSAM)
    settle(world)
    assert "Plants" in _section(world, "PLANS")
    assert "the plants" not in _section(world, "JOURNAL")
    assert "the roof" in _section(world, "JOURNAL")


@pytest.mark.parametrize("memory", ["Husam's landlord in Hafen wants", "Husam pays"])
def test_recalled_message_gives_way_to_a_memory_with_all_its_words(memory: str) -> None:
    world = stage()
    world.chat(HUSAM, COACH, chat_id=FLAT, title="Flat", respond="manual")
    world.chat(HUSAM, COACH)
    world.post(DEPOSIT, HUSAM, chat_id=FLAT)
    world.post("Also the landlord is a good friend of Ahmad", HUSAM, chat_id=FLAT)
    indexed(world, FLAT)
    settle(world)
    tells = memory != "Husam pays"
    _put(world, _remembered(f"{memory} a deposit of 1450 euros for the flat.", FLAT, 1, 2))
    world.post("How high is the deposit for the flat?", HUSAM)
    settle(world)
    assert memory in _section(world, "JOURNAL")
    recalled = _section(world, "RECALLED")
    assert (DEPOSIT in recalled) == (not tells)
    assert ("good friend" in recalled) == (not tells), "it stands beside what is told"
