"""Each message is in a prompt once: RECALLED leaves out what another section shows."""

import pytest

from skein.models.chats.summary import Summary
from skein.models.common.storage import Update
from skein.models.visibility.audience import Audience
from tests.support.agents import AHMAD, COACH, END, HUSAM, settle, stage
from tests.support.builders import NOON, World
from tests.support.fakes import calls, says
from tests.support.recalling import DEPOSIT, indexed

FLAT = "chat_flat"


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
