"""Passages and postings expire with their messages, where a tenant limits retention."""

from datetime import timedelta

import pytest

from skein.models.chats.chat import Message
from skein.models.common.storage import Delete
from skein.recall.models.stored import Posting
from tests.support.builders import NOON, TENANT
from tests.support.recall import ANN, COACH, Indexed

DAY = int(timedelta(days=1).total_seconds())
NOW = int(NOON.timestamp())


@pytest.fixture
def world() -> Indexed:
    world = Indexed()
    world.agent()
    world.chat(ANN, COACH, kind="direct", visibility="private")
    return world


def expiry_of(world: Indexed, stem: str) -> int | None:
    item = world.table.get(Posting.key_of(TENANT, "agt_a", "user:usr_ann", stem))
    assert item is not None
    return Posting.from_item(item).expires_at


def test_passage_and_posting_expire_with_their_messages(world: Indexed) -> None:
    world.said("Room 4711", expires_at=NOW + DAY)
    world.said("Room 4711", expires_at=NOW + 2 * DAY)
    world.index()
    assert [each.expires_at for each in world.passages()] == [NOW + DAY, NOW + 2 * DAY]
    assert expiry_of(world, "4711") == NOW + 2 * DAY


def test_posting_with_a_message_that_never_expires_stays(world: Indexed) -> None:
    world.said("Room 4711", expires_at=NOW + DAY)
    world.said("Room 4711 and 4712")
    world.index()
    assert expiry_of(world, "4711") is None
    world.clock.advance(DAY + 1)
    world.index()
    assert world.seqs() == [2]


def test_passage_that_has_expired_but_is_still_stored_is_replaced(world: Indexed) -> None:
    """The table may take days to drop an expired item, and conditions see it until then."""
    world.said("Room 4711", expires_at=NOW + DAY)
    world.index()
    world.clock.advance(DAY + 1)
    world.said("Room 4711 again")
    world.index()
    assert world.seqs() == [2]
    assert world.postings("user:usr_ann")["4711"] == [2]


def test_references_of_expired_messages_leave_a_posting_with_its_next_change(
    world: Indexed,
) -> None:
    world.said("Room 4711", *(f"Nothing {number}" for number in range(7)), expires_at=NOW + DAY)
    world.said("Room 4711", expires_at=NOW + 3 * DAY)
    world.index()
    world.clock.advance(DAY + 1)
    for seq in range(1, 9):
        world.table.write(Delete(Message.key_of(TENANT, "chat_1", seq)))
    world.said("Room 4711", expires_at=NOW + 4 * DAY)
    world.index(10, 10)
    assert world.postings("user:usr_ann")["4711"] == [10, 9]
