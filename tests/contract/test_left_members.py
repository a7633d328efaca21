"""The migration of closed memberships, on an engine that scans as DynamoDB does."""

from typing import TYPE_CHECKING

import pytest

from skein.adapters.dynamodb.table import DynamoTable
from skein.models.chats.chat import Chat, Membership
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put
from skein.services.chat_state.snapshot import read_snapshot
from tests.contract.conftest import NOW
from tests.fakes.system import FixedClock
from tests.support.engine import TABLE_NAME
from tools.stack import left_members

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT = "migration"


def test_migration_moves_closed_memberships_and_can_be_resumed_and_repeated(
    moto_client: "DynamoDBClient", clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = DynamoTable(moto_client, TABLE_NAME, clock)
    for number in range(3):
        people = [NamedMember(kind="user", id=f"usr_{n}", name=f"P {n}") for n in range(5)]
        chat = Chat(
            tenant=TENANT,
            id=f"chat_{number}",
            kind="group",
            visibility="open",
            roster=tuple(people[:1]),
            activity_hour=NOW,
            created_at=NOW,
        )
        table.write(Put(chat.key, chat.to_item()))
        for who in people:
            position = Membership(tenant=TENANT, chat_id=chat.id, member=who)
            left = {"left_seq": 0, "kept": who.id} if who is not people[0] else {}
            table.write(Put(position.key, position.to_item(chat) | left))
    monkeypatch.setattr(left_members, "PAGE_ITEMS", 4)

    said: list[str] = []

    class Interrupted(Exception):
        pass

    def report(words: str) -> None:
        said.append(words)
        if len(said) == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        left_members.move_all(moto_client, TABLE_NAME, table, report=report)
    after = said[-1].partition("; after: ")[2]
    moved_before = int(said[-1].split()[0])
    moved = left_members.move_all(moto_client, TABLE_NAME, table, after=after, report=said.append)
    assert moved_before + moved == 12
    assert said[-1].endswith("; done")
    assert left_members.move_all(moto_client, TABLE_NAME, table, report=said.append) == 0
    for number in range(3):
        assert len(read_snapshot(table, TENANT, f"chat_{number}").members) == 1
        everybody = read_snapshot(table, TENANT, f"chat_{number}", closed=True).members
        assert len(everybody) == 5
        assert not any(position.unmoved for position in everybody)
        item = table.get(Membership.left_key_of(TENANT, f"chat_{number}", everybody[0].member))
        assert item is not None
        assert item["kept"] == everybody[0].member.id
