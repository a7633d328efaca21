"""What an agent is told of its other conversations: which, in what order, and at what cost."""

import re
from datetime import timedelta
from typing import Any

import pytest

from skein.models.chats.chat import Chat, LastMessage
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put, Update
from skein.models.visibility.audience import OPEN, Audience
from tests.patterns.worlds import job_of
from tests.support.builders import NOON, TENANT, World, bot, person

HUSAM, SARAH, COACH = person(), person("usr_sarah", "Sarah"), bot()
SECTION = "OTHER ACTIVE CONVERSATIONS"
HINT = "borrow_context"


def _world(*tools: str, **chat: Any) -> World:
    """Husam and Coach in `chat_1`, which is where the agent is asked something."""
    world = World()
    world.agent(history_format="timeline", reply_mode="text", enabled_tools=tools)
    world.chat(HUSAM, COACH, **chat)
    return world


def _elsewhere(
    world: World,
    number: int,
    *,
    ago: timedelta = timedelta(minutes=5),
    text: str | None = "Working on it.\nNothing is open.",
    people: tuple[NamedMember, ...] = (HUSAM,),
    audience: Audience = OPEN,
    **fields: Any,
) -> Chat:
    """Another chat with a note of the agent's; `ago` is the age of its last message."""
    said_at = NOON - ago
    said = LastMessage(seq=2, text="Hi", sender=HUSAM, created_at=said_at)
    given = {"title": f"Chat {number}", "kind": "group", "visibility": "open"} | fields
    given["owners"] = (HUSAM.id,)
    chat = Chat.model_validate(
        {
            "tenant": TENANT,
            "id": f"chat_x{number:05d}",
            "roster": (*people, COACH),
            "last_seq": 2,
            "last_message": said,
            "activity_hour": said_at.replace(minute=0, second=0),
            "created_at": NOON - timedelta(days=3),
        }
        | given
    )
    world.table.write(Put(chat.key, chat.to_item()))
    note = Summary(text=text, from_seq=1, seq=2, audience=audience, at=said_at) if text else None
    for member in chat.roster:
        mine = note if member == COACH else None
        membership = Membership(tenant=TENANT, chat_id=chat.id, member=member, summary=mine)
        world.table.write(Put(membership.key, membership.to_item(chat)))
    return chat


def _told(world: World) -> str:
    """The section as the agent is shown it now; empty where it is not there."""
    world.post("What else is going on?", HUSAM)
    world.take(job_of(world))
    parts = world.model.prompt.split("\n\n")
    return next((part for part in parts if part.startswith(SECTION)), "")


def _listed(world: World) -> list[int]:
    return [int(number) for number in re.findall(r'"Chat (\d+)"', _told(world))]


def test_other_chat_is_shown_with_its_title_and_the_agents_own_two_lines() -> None:
    world = _world()
    _elsewhere(world, 1, title='The "report"', text="The report is late.\nAnn has the numbers.")
    assert _told(world) == (
        "OTHER ACTIVE CONVERSATIONS:\n"
        '  - "The \\"report\\"", 5 min ago: '
        '"The report is late. Ann has the numbers."'
    )


def test_id_is_shown_only_if_a_tool_takes_it_and_no_other_section_has_it() -> None:
    for tools, title, told in (
        ((), "Chat 1", ""),
        (("borrow_context",), "Chat 1", ""),
        (("borrow_context",), "Project Alpha", " (id: chat_x00001)"),
    ):
        world = _world(*tools)
        _elsewhere(world, 1, title=title)
        assert f'"{title}"{told}, 5 min ago' in _told(world)


def test_other_conversations_section_is_absent_without_other_chats() -> None:
    assert _told(_world("borrow_context")) == ""


def test_group_without_a_title_is_named_by_its_people() -> None:
    world = _world()
    _elsewhere(world, 1, title=None)
    assert '"group with Husam"' in _told(world)


def test_borrowing_hint_is_shown_only_to_agents_with_the_tool() -> None:
    for tools, told in (((), False), (("borrow_context",), True)):
        world = _world(*tools)
        _elsewhere(world, 1)
        assert (HINT in _told(world)) is told


def test_only_chats_with_a_summary_and_recent_messages_are_shown() -> None:
    world = _world()
    _elsewhere(world, 1)
    _elsewhere(world, 2, text=None)
    _elsewhere(world, 3, ago=timedelta(hours=6, minutes=1))
    _elsewhere(world, 4, ago=timedelta(hours=5, minutes=59))
    _elsewhere(world, 5, discarded_at=NOON)
    _elsewhere(world, 6, last_message=None)
    assert _listed(world) == [1, 4]


def test_other_conversations_activity_counts_messages_only() -> None:
    world = _world()
    old = _elsewhere(world, 1, ago=timedelta(hours=7))
    world.known(SARAH)
    world.add(SARAH, chat_id=old.id)
    world.table.write(Update(old.key, set={"activity_hour": "2026-02-18T12:00:00.000Z"}))
    assert _listed(world) == []


def test_chat_that_the_agent_has_left_is_not_shown() -> None:
    world = _world()
    left = _elsewhere(world, 1)
    world.app.chat_admin.remove_member(TENANT, left.id, HUSAM.ref, COACH.ref)
    assert _listed(world) == []


def test_other_conversations_list_the_ten_newest_first() -> None:
    world = _world()
    for number in range(15):
        _elsewhere(world, number, ago=timedelta(minutes=15 * ((number * 7) % 15) + 1))
    ages = {number: (number * 7) % 15 for number in range(15)}
    assert _listed(world) == sorted(ages, key=ages.__getitem__)[:10]


def test_active_chat_is_not_among_other_conversations() -> None:
    world = _world()
    world.chat_elsewhere(HUSAM, COACH)
    for n in range(4):
        world.post(f"Fact {n}", HUSAM)
        world.run_ready()
        world.clock.advance(301)
        world.tick()
        world.run_ready()
    assert world.membership(COACH).summary is not None
    assert _told(world) == ""


ALONE = Audience(open=False, people=(HUSAM.id,))
BOTH = Audience(open=False, people=tuple(sorted((HUSAM.id, SARAH.id))))
PRIVATE: dict[str, Any] = {"visibility": "private"}
DIRECT: dict[str, Any] = {"visibility": "private", "kind": "direct"}


@pytest.mark.parametrize(
    ("here", "people", "audience", "told"),
    [
        ({}, (HUSAM,), ALONE, False),
        (DIRECT, (HUSAM,), ALONE, True),
        (DIRECT, (HUSAM, SARAH), BOTH, True),
        (DIRECT, (HUSAM, SARAH), Audience(open=False, people=(SARAH.id,)), False),
        (DIRECT, (HUSAM, SARAH), Audience(open=False), False),
    ],
)
def test_agent_summary_of_private_chat_is_shown_only_to_its_audience(
    here: dict[str, Any], people: tuple[NamedMember, ...], audience: Audience, told: bool
) -> None:
    world = _world(**here)
    _elsewhere(world, 1, people=people, audience=audience, **PRIVATE)
    assert _listed(world) == ([1] if told else [])


def test_private_chat_of_another_person_is_not_shown() -> None:
    world = _world(**DIRECT)
    her_own = Audience(open=False, people=(SARAH.id,))
    _elsewhere(world, 1, people=(SARAH,), audience=her_own, **DIRECT)
    assert _listed(world) == []


# ---------------------------------------------------------------------- what it costs


def _crowded(count: int, here: dict[str, Any]) -> World:
    """The agent is in `count` open chats, and in as many private ones with Husam."""
    world = _world(**here)
    for number in range(count):
        ago = timedelta(minutes=1 + number % 300)
        _elsewhere(world, number, title=f"Chat {number:05d}", ago=ago)
        _elsewhere(
            world, 10_000 + number, title=f"Chat {number:05d}", ago=ago, audience=ALONE, **PRIVATE
        )
    return world


def _cost(world: World) -> tuple[list[str], int]:
    world.post("What else is going on?", HUSAM)
    job = job_of(world)
    world.table.log.clear()
    world.take(job)
    log = world.table.log
    return sorted(call.method for call in log), sum(call.bytes for call in log)


@pytest.mark.parametrize("most", [120, pytest.param(5_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("here", [{}, DIRECT], ids=["group", "direct"])
def test_other_conversations_cost_does_not_grow_with_the_number_of_chats(
    here: dict[str, Any], most: int
) -> None:
    few, some, many = (_cost(_crowded(count, here)) for count in (10, 60, most))
    assert few[0] == some[0] == many[0]
    assert many[1] <= some[1] * 1.01
    # With ten of each not even the index's rows are used up that are read at most.
    assert many[1] <= few[1] * 5


# ---------------------------------------------------------------------- titles

BOTH = Audience(open=False, people=(HUSAM.id, SARAH.id))


def _left_by_sarah(world: World, known: str | None) -> None:
    """Sarah was there for the agent's note, and left; since then the chat has another title."""
    chat = _elsewhere(world, 1, visibility="private", title="Without Sarah", audience=BOTH)
    note = Summary(text="It is open.", from_seq=1, seq=2, audience=BOTH, at=NOON, title=known)
    key = Membership.key_of(TENANT, chat.id, COACH)
    world.table.write(Update(key, {"summary": note.model_dump(mode="json")}))


@pytest.mark.parametrize(
    ("known", "shown"), [("With Sarah", '"With Sarah"'), (None, '"a conversation"')]
)
def test_title_set_after_a_member_left_is_not_shown_to_them(known: str | None, shown: str) -> None:
    world = _world()
    world.chat(HUSAM, SARAH, COACH, visibility="private", respond="every")
    _left_by_sarah(world, known)
    assert _told(world).endswith(f'  - {shown}, 5 min ago: "It is open."')


def test_current_title_is_shown_to_members_of_the_chat() -> None:
    world = _world(visibility="private", kind="direct")
    _left_by_sarah(world, "With Sarah")
    assert '"Without Sarah"' in _told(world)
