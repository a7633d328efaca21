"""A private prompt shows no chat to which a reader is invited, and few chats of outsiders."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put, Update
from skein.models.outbox.jobs import RunJob
from skein.models.visibility.audience import OPEN
from skein.models.visibility.provenance import Authors
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import calls, says
from tests.support.recalling import indexed

ALICE, BOB, COACH = person("usr_alice", "Alice"), person("usr_bob", "Bob"), bot()
TOOLS = ("borrow_context", "read_messages", "enter_chat", "recall", "send_message", "get_my_runs")
TRAP = "chat_trap"
BAIT = "The deposit for the hall is 300 euros"
TITLE = "Order: tell me all"


def stage(**agent: Any) -> World:
    """Alice alone with Coach, and Bob's open group, whose messages are indexed."""
    world = World()
    world.agent(enabled_tools=TOOLS, **agent)
    world.known(ALICE, BOB)
    alone = {"kind": "direct", "visibility": "private", "title": None}
    world.chat(ALICE, COACH, chat_id="chat_1", **alone)
    group(world, TRAP, BOB, title=TITLE)
    world.post(BAIT, BOB, chat_id=TRAP)
    indexed(world, TRAP)
    return world


def group(world: World, chat_id: str, *people: NamedMember, **fields: Any) -> None:
    """An open group with Coach, who noted something of it."""
    world.chat(*people, COACH, chat_id=chat_id, respond="manual", **fields)
    note = Summary(
        text=f"Note of {chat_id}.",
        from_seq=1,
        seq=1,
        audience=OPEN,
        authors=Authors.in_digests(who.id for who in people),
        at=NOON,
    )
    key = Membership.key_of(TENANT, chat_id, COACH.ref)
    world.table.write(Update(key, set={"summary": note.model_dump(mode="json")}))


def invite(world: World) -> None:
    world.app.chat_admin.add_member(TENANT, TRAP, BOB, ALICE.ref)


def run(world: World) -> None:
    """Carry out the newest run."""
    jobs = [waiting.job for waiting in world.queues.sent if isinstance(waiting.job, RunJob)]
    world.take(jobs[-1])


def prompt(world: World, text: str = "How high is the deposit for the hall?") -> str:
    """What Coach is shown when Alice asks."""
    world.post(text, ALICE)
    run(world)
    return world.model.prompt


def titles(text: str, count: int) -> list[int]:
    return [n for n in range(count) if f'"Chat {n}"' in text]


# ---------------------------------------------------------------------- invited


def test_private_prompt_shows_an_open_chat_until_a_reader_is_put_into_it() -> None:
    """The rest of this file means something: without an invitation, all is shown."""
    shown = prompt(stage())
    assert all(words in shown for words in (TITLE, BAIT, f"Note of {TRAP}."))


def test_private_prompt_shows_nothing_of_a_chat_before_the_invitation_is_accepted() -> None:
    world = stage()
    invite(world)
    shown = prompt(world)
    assert not any(words in shown for words in (TITLE, BAIT, f"Note of {TRAP}.", TRAP))


def test_private_prompt_shows_the_chat_after_acceptance() -> None:
    world = stage()
    invite(world)
    world.app.invitations.answer(TENANT, TRAP, ALICE.ref, accept=True)
    shown = prompt(world)
    assert all(words in shown for words in (TITLE, BAIT, f"Note of {TRAP}."))


def test_open_prompt_shows_a_chat_to_which_one_of_its_people_is_invited() -> None:
    world = stage()
    invite(world)
    world.chat(ALICE, COACH, chat_id="chat_open", title="Open")
    world.post("How high is the deposit for the hall?", ALICE, chat_id="chat_open")
    run(world)
    assert TITLE in world.model.prompt


@pytest.mark.parametrize(
    "call",
    [
        ("read_messages", {"chat_id": TRAP}),
        ("enter_chat", {"chat_id": TRAP}),
        ("borrow_context", {"chat_id": TRAP}),
        ("recall", {"query": "deposit for the hall"}),
    ],
    ids=lambda call: str(call[0]),
)
def test_tool_shows_nothing_of_a_chat_before_the_invitation_is_accepted(
    call: tuple[str, dict[str, Any]],
) -> None:
    results: list[str] = []
    for invited in (False, True):
        world = stage()
        if invited:
            invite(world)
        world.model.script.extend([calls(call), "Done."])
        world.post("Look at the other chat", ALICE)
        run(world)
        results.append(world.model.told[-1])
    assert TITLE in results[0] or BAIT in results[0] or "will be shown" in results[0]
    assert TITLE not in results[1]
    assert BAIT not in results[1]


def test_runs_show_nothing_that_was_sent_to_a_chat_before_the_invitation_is_accepted() -> None:
    results: list[str] = []
    for invited in (False, True):
        world = stage()
        world.table.write(Update(Chat.key_of(TENANT, TRAP), set={"respond": "mention"}))
        world.model.script.extend([says("Noted: order", chat_id=TRAP), "Done."])
        world.post("@Coach, send it", BOB, chat_id=TRAP)
        run(world)
        if invited:
            invite(world)
        world.model.script.extend([calls("get_my_runs"), "Done."])
        prompt(world, "What did you do?")
        results.append(world.model.told[-1])
    assert TRAP in results[0]
    assert TRAP not in results[1]


def test_borrowed_context_is_not_shown_after_a_reader_was_put_into_its_chat() -> None:
    world = stage()
    world.model.script.extend([calls(("borrow_context", {"chat_id": TRAP})), "Done."])
    prompt(world, "Borrow it")
    assert world.table.get(BorrowedContext.key_of(TENANT, "chat_1", COACH.id)) is not None
    invite(world)
    shown = prompt(world, "And now?")
    assert "BORROWED CONTEXT" not in shown
    assert BAIT not in shown


def test_borrowed_context_of_an_old_chat_is_checked_by_its_key() -> None:
    """The chat is not among the newest, so the reading reads it by key."""
    world = stage()
    world.model.script.extend([calls(("borrow_context", {"chat_id": TRAP})), "Done."])
    prompt(world, "Borrow it")
    invite(world)
    for number in range(60):
        group(world, f"chat_more_{number}", BOB)
    later = NOON.replace(hour=13)
    for number in range(60):
        chat = world.stored_chat(f"chat_more_{number}")
        active = chat.model_copy(update={"activity_hour": later})
        world.table.write(Put(chat.key, active.to_item()))
    assert "BORROWED CONTEXT" not in prompt(world, "And now?")


# ---------------------------------------------------------------------- outsiders


def active(world: World, chat_id: str, *, ago: timedelta) -> None:
    chat = world.stored_chat(chat_id)
    world.post("Hi", chat.roster[0], chat_id=chat_id)
    chat = world.stored_chat(chat_id)
    assert chat.last_message is not None
    last = chat.last_message.model_copy(update={"created_at": world.clock.now() - ago})
    world.table.write(
        Update(Chat.key_of(TENANT, chat_id), set={"last_message": last.model_dump(mode="json")})
    )


def crowd(world: World, people: Callable[[int], NamedMember], *, count: int = 6) -> str:
    """The prompt of Alice, with further open chats, of which the last is the newest."""
    for number in range(count):
        group(world, f"chat_{number + 10}", people(number), title=f"Chat {number}")
        active(world, f"chat_{number + 10}", ago=timedelta(minutes=count - number))
    return prompt(world)


def test_private_prompt_names_at_most_three_chats_of_an_outsider() -> None:
    shown = crowd(stage(), lambda _: BOB)
    for section in ("YOUR CHATS:", "OTHER ACTIVE CONVERSATIONS:"):
        part = shown.partition(section)[2].partition("\n\n")[0]
        assert TITLE in part
        assert titles(part, 6) == [4, 5]


def test_private_prompt_names_at_most_three_chats_that_outsiders_have_left() -> None:
    world = stage()
    for number in range(6):
        group(world, f"chat_{number + 10}", BOB, title=f"Chat {number}")
        active(world, f"chat_{number + 10}", ago=timedelta(minutes=6 - number))
        world.app.chat_admin.remove_member(TENANT, f"chat_{number + 10}", BOB.ref, BOB.ref)
    shown = prompt(world)
    for section in ("YOUR CHATS:", "OTHER ACTIVE CONVERSATIONS:"):
        part = shown.partition(section)[2].partition("\n\n")[0]
        assert titles(part, 6) == [3, 4, 5]


def test_chats_of_several_outsiders_are_counted_for_each() -> None:
    carol = person("usr_carol", "Carol")
    shown = crowd(stage(), lambda number: carol if number % 2 else BOB)
    assert titles(shown, 6) == [1, 2, 3, 4, 5]  # and `TITLE`, of Bob's


def test_private_prompt_names_chats_of_outsiders_after_the_own_ones() -> None:
    world = stage()
    world.chat(ALICE, BOB, COACH, chat_id="chat_own", title="Own", respond="manual")
    active(world, "chat_own", ago=timedelta(hours=9))
    shown = crowd(world, lambda _: BOB, count=2)
    section = shown.partition("YOUR CHATS:")[2].partition("\n\n")[0]
    assert section.index('"Own"') < section.index('"Chat 1"') < section.index('"Chat 0"')


def test_private_prompt_names_no_chat_of_outsiders_that_was_quiet_for_six_hours() -> None:
    world = stage()
    group(world, "chat_old", BOB, title="Old")
    active(world, "chat_old", ago=timedelta(hours=6, minutes=1))
    assert '"Old"' not in prompt(world)


def test_agent_that_excludes_outsiders_lists_no_chats_of_outsiders() -> None:
    shown = crowd(stage(outsiders="none"), lambda _: BOB)
    assert titles(shown, 6) == []
    assert TITLE not in shown


def test_agent_without_outsiders_is_shown_no_summary_of_their_words() -> None:
    world = stage(outsiders="none")
    group(world, "chat_own", ALICE, BOB, title="Own")
    active(world, "chat_own", ago=timedelta(minutes=1))
    shown = prompt(world)
    assert '"Own"' in shown
    assert "Note of chat_own." not in shown


def test_open_prompt_names_all_chats() -> None:
    world = stage()
    world.chat(ALICE, COACH, chat_id="chat_open", title="Open")
    for number in range(6):
        group(world, f"chat_{number + 10}", BOB, title=f"Chat {number}")
        active(world, f"chat_{number + 10}", ago=timedelta(hours=7))
    world.post("@Coach, hello", ALICE, chat_id="chat_open")
    run(world)
    assert titles(world.model.prompt, 6) == [0, 1, 2, 3, 4, 5]
