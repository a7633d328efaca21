"""The list of somebody's chats, and how many messages in them are unread."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.storage import Delete, Put, Write
from skein.services.chats.views import WINDOW, OwnChat
from skein.services.common.pagination import Listing
from tests.support.builders import NOON, TENANT, World, person
from tests.support.examples import examples

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")


def listed(world: World, *, limit: int = 50, user_id: str = HUSAM.id) -> list[OwnChat]:
    """All pages of somebody's chats."""
    views = world.app.views
    return everything(lambda cursor: views.chats(TENANT, user_id, limit=limit, cursor=cursor))


def everything(read: Callable[[str | None], Listing[OwnChat]]) -> list[OwnChat]:
    page = read(None)
    items = list(page.items)
    while page.next_cursor is not None:
        page = read(page.next_cursor)
        items.extend(page.items)
    return items


def quiet_chat(world: World, number: int, *, hours_ago: int, minutes: int = 0) -> Chat:
    """A chat of Husam's whose last message, but for a trigger, was written so long ago."""
    said_at = NOON - timedelta(hours=hours_ago) + timedelta(minutes=minutes)
    chat_id = f"chat_{number:03d}"
    message = Message(
        tenant=TENANT,
        chat_id=chat_id,
        id=f"msg_{number}",
        seq=1,
        text="hello",
        sender=HUSAM,
        client_id="1",
        created_at=said_at,
    )
    chat = Chat(
        tenant=TENANT,
        id=chat_id,
        kind="group",
        visibility="open",
        roster=(HUSAM,),
        last_seq=1,
        last_message=message.preview(),
        activity_hour=said_at.replace(minute=0),
        created_at=said_at - timedelta(days=1),
    )
    membership = Membership(tenant=TENANT, chat_id=chat_id, member=HUSAM)
    world.table.write(Put(chat.key, chat.to_item()))
    world.table.write(Put(membership.key, membership.to_item(chat)))
    world.table.write(Put(message.key, message.to_item()))
    return chat


# ---------------------------------------------------------------------- the list of chats


def test_the_chat_with_the_newest_message_comes_first() -> None:
    world = World()
    for number, minutes in enumerate([10, 30, 20]):
        quiet_chat(world, number, hours_ago=2, minutes=minutes)
    assert [own.chat.id for own in listed(world)] == ["chat_001", "chat_002", "chat_000"]


def test_empty_chat_is_listed_by_its_creation_time() -> None:
    world = World()
    quiet_chat(world, 1, hours_ago=1)
    world.chat(HUSAM, chat_id="chat_empty")
    assert [own.chat.id for own in listed(world)] == ["chat_empty", "chat_001"]


def test_an_old_chat_comes_back_up_with_a_new_message() -> None:
    world = World()
    for number in range(WINDOW + 10):
        quiet_chat(world, number, hours_ago=number + 1)
    oldest = f"chat_{WINDOW + 9:03d}"
    world.post("I am back", HUSAM, chat_id=oldest)
    world.drain()
    page = world.app.views.chats(TENANT, HUSAM.id, limit=1)
    assert [own.chat.id for own in page.items] == [oldest]


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 59)), max_size=130),
    st.integers(1, 60),
)
def test_pages_are_complete_without_repeats(times: list[tuple[int, int]], limit: int) -> None:
    world = World()
    for number, (hours, minutes) in enumerate(times):
        quiet_chat(world, number, hours_ago=hours, minutes=minutes)
    shown = [own.chat.id for own in listed(world, limit=limit)]
    assert sorted(shown) == [f"chat_{number:03d}" for number in range(len(times))]


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 59)), min_size=1, max_size=WINDOW))
def test_chat_list_within_50_chats_is_in_exact_order(times: list[tuple[int, int]]) -> None:
    world = World()
    for number, (hours, minutes) in enumerate(times):
        quiet_chat(world, number, hours_ago=hours, minutes=minutes)
    ranks = [own.rank for own in listed(world, limit=7)]
    assert ranks == sorted(ranks, reverse=True)


def test_chat_list_with_activity_between_pages_shows_each_chat_once() -> None:
    world = World()
    for number in range(80):
        quiet_chat(world, number, hours_ago=number + 1)
    views = world.app.views
    first = views.chats(TENANT, HUSAM.id, limit=20)
    for number in (5, 30, 70):
        world.post("news", HUSAM, chat_id=f"chat_{number:03d}")
    world.drain()

    later: list[str] = []
    cursor = first.next_cursor
    while cursor is not None:
        page = views.chats(TENANT, HUSAM.id, limit=20, cursor=cursor)
        later.extend(own.chat.id for own in page.items)
        cursor = page.next_cursor

    shown = [own.chat.id for own in first.items] + later
    assert len(shown) == len(set(shown))
    assert set(shown) == {f"chat_{number:03d}" for number in range(80)} - {"chat_030", "chat_070"}


def test_discarded_chats_and_those_one_has_left_are_not_listed() -> None:
    world = World()
    for chat_id in ("chat_1", "chat_2", "chat_3"):
        world.chat(HUSAM, AHMAD, chat_id=chat_id)
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    world.app.chat_admin.remove_member(TENANT, "chat_2", HUSAM.ref, HUSAM.ref)
    assert [own.chat.id for own in listed(world)] == ["chat_3"]
    assert len(listed(world, user_id=AHMAD.id)) == 2


def test_tenants_have_lists_of_their_own() -> None:
    world = World()
    world.chat(HUSAM)
    assert world.app.views.chats("other", HUSAM.id).items == ()


def test_a_row_that_points_nowhere_is_passed_over() -> None:
    world = World()
    chat = quiet_chat(world, 1, hours_ago=1)
    membership = Membership(tenant=TENANT, chat_id="chat_ghost", member=HUSAM)
    ghost = chat.model_copy(update={"id": "chat_ghost"})
    world.table.write(Put(membership.key, membership.to_item(ghost)))
    assert [own.chat.id for own in listed(world)] == ["chat_001"]


# ---------------------------------------------------------------------- unread


def test_unread_counts_messages_after_the_last_seen_one() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.post("One", HUSAM)
    world.post("Two", HUSAM)
    assert [own.unread for own in listed(world, user_id=AHMAD.id)] == [2]
    world.app.views.read(TENANT, AHMAD.id, "chat_1", 1)
    assert [own.unread for own in listed(world, user_id=AHMAD.id)] == [1]
    world.post("Three", AHMAD)
    assert [own.unread for own in listed(world, user_id=AHMAD.id)] == [0]
    assert [own.unread for own in listed(world)] == [1]


def test_the_mark_moves_neither_back_nor_past_the_end() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    for text in ("One", "Two", "Three"):
        world.post(text, HUSAM)
    views = world.app.views
    assert views.read(TENANT, AHMAD.id, "chat_1", 2).membership.seen_seq == 2
    assert views.read(TENANT, AHMAD.id, "chat_1", 1).membership.seen_seq == 2
    assert views.read(TENANT, AHMAD.id, "chat_1", 99).membership.seen_seq == 3
    assert world.membership(AHMAD).seen_seq == 3


def test_two_receipts_at_once_keep_the_higher_mark() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    for text in ("One", "Two", "Three"):
        world.post(text, HUSAM)
    views, real_write = world.app.views, world.table.write
    once = iter([True])

    def racing(write: object) -> None:
        if next(once, False):
            views.read(TENANT, AHMAD.id, "chat_1", 3)
        real_write(write)  # type: ignore[arg-type]

    world.table.write = racing  # type: ignore[method-assign]
    assert views.read(TENANT, AHMAD.id, "chat_1", 2).membership.seen_seq == 3


# ---------------------------------------------------------------------- cost


@pytest.mark.parametrize("chats", [1, 200])
def test_a_page_of_chats_costs_two_reads_however_many_there_are(chats: int) -> None:
    world = World()
    for number in range(chats):
        quiet_chat(world, number, hours_ago=number)
    world.table.log.clear()
    world.app.views.chats(TENANT, HUSAM.id)
    assert [call.method for call in world.table.log] == ["query_index", "get_many"]
    assert max(call.items for call in world.table.log) <= 2 * WINDOW


# ---------------------------------------------------------------------- whoever goes meanwhile


@pytest.mark.parametrize("erased", [False, True])
def test_mark_as_read_during_concurrent_leave_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, *, erased: bool
) -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.post("Hello", HUSAM)
    membership = world.membership(AHMAD)
    write = world.table.write

    def goes(one: Write) -> None:
        monkeypatch.undo()
        if erased:
            world.table.write(Delete(membership.key))
        else:
            world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref)
        write(one)

    monkeypatch.setattr(world.table, "write", goes)
    with pytest.raises(NotFound):
        world.app.views.read(TENANT, AHMAD.id, "chat_1", 1)
    assert world.table.get(membership.key) is None
    left = world.table.get(Membership.left_key_of(TENANT, "chat_1", AHMAD))
    assert left is None if erased else left is not None and left["seen_seq"] == 0
