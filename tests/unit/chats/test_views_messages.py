"""Pages of messages, and what it costs to show chats."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.errors import NotFound
from skein.models.chats.chat import Message
from skein.services.common.pagination import Listing
from tests.support.builders import NOON, TENANT, World, person
from tests.support.examples import examples

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")


# ---------------------------------------------------------------------- messages


def with_messages(count: int) -> World:
    world = World()
    world.chat(HUSAM, AHMAD)
    for number in range(1, count + 1):
        world.post(f"message {number}", HUSAM)
    return world


def seqs(page: Listing[Message]) -> list[int]:
    return [message.seq for message in page.items]


def test_without_bounds_the_newest_messages_come_oldest_first() -> None:
    views = with_messages(5).app.views
    page = views.messages(TENANT, AHMAD.id, "chat_1", limit=2)
    assert seqs(page) == [4, 5]
    page = views.messages(TENANT, AHMAD.id, "chat_1", limit=2, cursor=page.next_cursor)
    assert seqs(page) == [2, 3]
    page = views.messages(TENANT, AHMAD.id, "chat_1", limit=2, cursor=page.next_cursor)
    assert (seqs(page), page.next_cursor) == ([1], None)


@given(
    count=st.integers(0, 12),
    after=st.none() | st.integers(0, 15),
    before=st.none() | st.integers(1, 15),
    limit=st.integers(1, 5),
)
@settings(deadline=None, max_examples=examples(60))
def test_pages_of_messages_are_complete_without_repeats(
    count: int, after: int | None, before: int | None, limit: int
) -> None:
    views = with_messages(count).app.views
    pages: list[list[int]] = []
    cursor: str | None = None
    while True:
        page = views.messages(
            TENANT, AHMAD.id, "chat_1", after=after, before=before, limit=limit, cursor=cursor
        )
        assert len(page.items) <= limit
        pages.append(seqs(page))
        cursor = page.next_cursor
        if cursor is None:
            break
    in_order = pages if after is not None else pages[::-1]
    expected = range((after or 0) + 1, min(before - 1 if before else count, count) + 1)
    assert [seq for page in in_order for seq in page] == list(expected)


def test_long_messages_come_in_smaller_pages() -> None:
    world = World()
    world.chat(HUSAM)
    for number in range(60):
        world.post("\x01" * 20_000, HUSAM, client_id=str(number))
    views = world.app.views
    page = views.messages(TENANT, HUSAM.id, "chat_1", after=0, limit=100)
    assert 1 <= len(page.items) < 60
    rest = views.messages(TENANT, HUSAM.id, "chat_1", limit=100, cursor=page.next_cursor)
    assert rest.items[0].seq == page.items[-1].seq + 1


def test_a_discarded_chat_can_still_be_read() -> None:
    world = with_messages(2)
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    assert world.app.views.chat(TENANT, AHMAD.id, "chat_1").chat.discarded_at == NOON
    assert seqs(world.app.views.messages(TENANT, AHMAD.id, "chat_1")) == [1, 2]


def test_chat_of_others_is_not_found() -> None:
    world = with_messages(1)
    world.app.chat_admin.remove_member(TENANT, "chat_1", HUSAM.ref, AHMAD.ref)
    views = world.app.views
    for tenant, user, chat in [
        (TENANT, "usr_stranger", "chat_1"),
        (TENANT, AHMAD.id, "chat_1"),
        ("other", HUSAM.id, "chat_1"),
        (TENANT, HUSAM.id, "chat_unknown"),
    ]:
        with pytest.raises(NotFound):
            views.chat(tenant, user, chat)
        with pytest.raises(NotFound):
            views.messages(tenant, user, chat)
        with pytest.raises(NotFound):
            views.read(tenant, user, chat, 1)


# ---------------------------------------------------------------------- cost


def cost(world: World, action: Callable[[], object]) -> list[str]:
    """The calls of the table that `action` makes."""
    world.table.log.clear()
    action()
    return [call.method for call in world.table.log]


@pytest.mark.parametrize("length", [10, 120])
def test_the_number_of_calls_does_not_depend_on_the_length_of_the_chat(length: int) -> None:
    world = with_messages(length)
    views = world.app.views
    assert cost(world, lambda: views.chats(TENANT, AHMAD.id)) == ["query_index", "get_many"]
    assert cost(world, lambda: views.chat(TENANT, AHMAD.id, "chat_1")) == ["get_many"]
    assert cost(world, lambda: views.messages(TENANT, AHMAD.id, "chat_1", limit=10)) == [
        "get_many",
        "query",
    ]
    assert max(call.items for call in world.table.log) == 10
    assert cost(world, lambda: world.post("Hello", HUSAM)) == ["query", "transact"]
    assert cost(world, lambda: views.read(TENANT, AHMAD.id, "chat_1", 1)) == ["get_many", "write"]
