"""The list of a tenant's erasures."""

import pytest

from skein.errors import Invalid
from skein.models.api.directory import NewUser
from skein.models.common.storage import Put
from skein.privacy.models.erasure import DeletedMessage, ErasedChat, Erasure
from skein.services.common.pagination import RowCursor
from tests.support.builders import NOON, TENANT, World


def erasures_of(world: World, count: int) -> list[str]:
    """Request erasures of new people, one after another; return the ids, newest first."""
    found = []
    for number in range(count):
        user = world.app.users.create(TENANT, NewUser(name=f"Person {number}"))
        found.append(world.app.erasures.request(TENANT, user.id, by="usr_op").id)
        world.clock.advance(1)
    return found[::-1]


def listed(world: World, limit: int) -> list[list[str]]:
    """Read the list to its end; return the ids of each page."""
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = world.app.erasures.list(TENANT, limit=limit, cursor=cursor)
        pages.append([erasure.id for erasure in page.items])
        cursor = page.next_cursor
        if cursor is None:
            return pages


def add_chats(world: World, erasure_id: str, count: int) -> None:
    """Add the working records of an erasure of a person with many chats."""
    for number in range(count):
        chat = ErasedChat(
            tenant=TENANT,
            erasure_id=erasure_id,
            chat_id=f"chat_{number}",
            private=False,
            since=NOON,
        )
        world.table.write(Put(chat.key, chat.to_item()))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_list_erasures_in_pages_returns_each_once_newest_first(limit: int) -> None:
    world = World()
    ids = erasures_of(world, 7)
    pages = listed(world, limit)
    assert [each for page in pages for each in page] == ids
    assert all(len(page) <= limit for page in pages)


def test_list_erasures_with_many_working_records_skips_them_with_one_query_each() -> None:
    world = World()
    ids = erasures_of(world, 4)
    for erasure_id in ids[:2]:
        add_chats(world, erasure_id, 60)
    world.table.log = []
    page = world.app.erasures.list(TENANT, limit=10)
    assert [erasure.id for erasure in page.items] == ids
    assert page.next_cursor is None
    assert [call.method for call in world.table.log] == ["query"] * 3


def test_list_erasures_with_many_in_progress_is_short_and_continues() -> None:
    world = World()
    ids = erasures_of(world, 14)
    for erasure_id in ids:
        add_chats(world, erasure_id, 20)
    world.table.log = []
    assert 0 < len(world.app.erasures.list(TENANT, limit=10).items) < 10
    assert len(world.table.log) <= 10
    assert [each for page in listed(world, 10) for each in page] == ids


def test_list_erasures_leaves_out_erasures_of_messages() -> None:
    world = World()
    ids = erasures_of(world, 2)
    deleted = Erasure(
        tenant=TENANT,
        id="era_7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        user_id="usr_1",
        requested_by="usr_1",
        requested_at=NOON,
        message=DeletedMessage(chat_id="chat_1", seq=1, posted_at=NOON),
    )
    world.table.write(Put(deleted.key, deleted.to_item(None)))
    assert [each for page in listed(world, 1) for each in page] == ids


def test_list_erasures_of_another_tenant_is_empty() -> None:
    world = World()
    erasures_of(world, 1)
    assert world.app.erasures.list("other").items == ()


def test_list_erasures_with_foreign_cursor_is_refused() -> None:
    world = World()
    with pytest.raises(Invalid):
        world.app.erasures.list(TENANT, cursor=RowCursor(of="users", after="usr_1").encode())
