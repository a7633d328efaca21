"""How many answers a second each partition key of a tenant allows: `make bench ONLY=keys`.

A tenant with ten agents has many people. Each person has a chat of their own, by SMS or in the app,
and sends one message in an hour. The benchmark plays everything that follows from a message: the
webhook or request, the run, the answer, the delivery and the upkeep job. It counts the DynamoDB
units that each call of the table uses, by partition key. A partition key allows 1,000 write units
and 3,000 read units a second. A key that only one person's calls use limits that person, not the
tenant, and is left out. Keys that differ only by a shard or a name share the load equally, because
a hash distributes it. The tenant's limits allow this load. They also decide how many shards the
keys have.
"""

import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from skein.adapters.dynamodb.attributes import marshal_item
from skein.adapters.sqlite_table.items import item_of, item_size
from skein.models.chats.chat import Chat
from skein.models.common.storage import Item, Key, Page, Query, Write
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import UpkeepJob
from skein.services.chats.post_message import NewMessage
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.builders import TENANT, World, bot, person
from tools.reference import markdown

AGENTS, PEOPLE = 10, 200
WRITE_UNITS, READ_UNITS = 1_000, 3_000  # of one key and second
GOAL = 1_000  # answers a second of a tenant with ten agents
HOUR = 3_600.0  # seconds
TOKENS_A_DAY = GOAL * 86_400 * 1_000
INDEXES = ("gsi1pk", "gsi2pk")
NAMES = (
    (rf"\b{TENANT}#", "{tenant}#"),
    (r"\d{4}-\d\d-\d\d", "{day}"),
    (r"(?<=#all:)\d+", "{shard}"),
    (r"(?<=#)(agt|usr|chat|run|dlv)_[\w-]+|(?<=:)[\w-]+|\+\d+", "{id}"),
    (r"#\d+(?=#|$)", "#{shard}"),
)


class Ceiling(NamedTuple):
    """How many answers the partition keys of one form allow.

    Attributes:
        form: The form of the keys, with placeholders such as `{id}` in place of ids.
        kind: `write` or `read`.
        keys: How many keys of the form were used.
        units: The units that one answer uses on all these keys together.
    """

    form: str
    kind: str
    keys: int
    units: float

    @property
    def answers(self) -> float:
        """The answers a second at which one of these keys reaches its limit."""
        most = WRITE_UNITS if self.kind == "write" else READ_UNITS
        return most * self.keys / self.units


def ignore(_pk: str, _kind: str, _units: float) -> None:
    """Don't count the units of a call."""


class KeyedTable(MemoryTable):
    """A table that reports the units that each call uses, by partition key."""

    told: Callable[[str, str, float], None] = staticmethod(ignore)

    def _carry_out(self, method: str, writes: Sequence[Write]) -> None:
        keys = [write.key for write in writes]
        before = self._items(keys)
        super()._carry_out(method, writes)
        after = self._items(keys)
        for key in keys:
            old, new = before.get(key, {}), after.get(key, {})
            units = max(_kib(old), _kib(new)) * (2 if method == "transact" else 1)
            self.told(key.pk, "write", units)
            for index in INDEXES:
                entries = {
                    item[index]: item.get(index[:-2] + "sk") for item in (old, new) if index in item
                }
                if old.get(index) != new.get(index) or len({*entries.values()}) > 1:
                    for entry in entries:
                        self.told(f"{index[:4]}: {entry}", "write", 1)

    def _items(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """Return items by key, without counting a call."""
        items = [item_of(text) for _, text in self._living(keys)]
        return {Key(item["pk"], item["sk"]): item for item in items}

    def get(self, key: Key) -> Item | None:
        """See `skein.ports.Table`."""
        found = super().get(key)
        self.told(key.pk, "read", _kib(found or {}, 4))
        return found

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        """See `skein.ports.Table`."""
        found = super().get_many(keys, consistent=consistent)
        for key in keys:
            self.told(key.pk, "read", _kib(found.get(key, {}), 4) / (1 if consistent else 2))
        return found

    def query(self, query: Query) -> Page:
        """See `skein.ports.Table`."""
        page = super().query(query)
        place = f"{query.index}: " if query.index is not None else ""
        units = max(1, math.ceil(sum(map(_size, page.items)) / 4_096))
        self.told(place + query.pk, "read", units / (1 if query.index is None else 2))
        return page


class Tenant(World):
    """The world in which the tenant's messages are played."""

    def empty_table(self) -> MemoryTable:
        """The empty table of the world."""
        self.keyed = KeyedTable(self.clock)
        return self.keyed


def _size(item: Item) -> int:
    return item_size(marshal_item(item))


def _kib(item: Item, kib: int = 1) -> int:
    return max(1, math.ceil(_size(item) / 1_024 / kib))


def form_of(key: str) -> str:
    """Return a partition key with placeholders such as `{id}` in place of ids."""
    for pattern, name in NAMES:
        key = re.sub(pattern, name, key)
    return key


def ceilings(*, sms: bool, people: int = PEOPLE) -> list[Ceiling]:
    """Play a message of each person; return the limits of the shared keys, lowest first."""
    world = Tenant(Settings(tenant_tokens_per_day=TOKENS_A_DAY))
    for number in range(AGENTS):
        world.agent(f"agt_{number}", f"Agent {number}")
        world.line(f"agt_{number}", f"+1500555{number:04d}")
    units: defaultdict[tuple[str, str], float] = defaultdict(float)
    users: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def note(user: int, pk: str, kind: str, used: float) -> None:
        units[pk, kind] += used
        users[pk, kind].add(user)

    chats = [_talk(world, number, "Hi", sms=sms) for number in range(people)]
    world.clock.advance(HOUR)
    for number, chat_id in enumerate(chats):
        world.keyed.told = partial(note, number)
        _talk(world, number, "Hello!", sms=sms)
        world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id=chat_id, last_seq=4))
        world.drain()
    shared = {each for each in units if len(users[each]) > 1}
    grouped: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for pk, kind in shared:
        grouped[form_of(pk), kind].append(units[pk, kind])
    found = [
        Ceiling(form, kind, len(used), sum(used) / people) for (form, kind), used in grouped.items()
    ]
    return sorted(found, key=lambda each: each.answers)


def _talk(world: World, number: int, text: str, *, sms: bool) -> str:
    """Let a person write to an agent, which answers; return the id of the chat."""
    if sms:
        arrived = InboundSms(
            account_sid="AC1",
            message_sid=f"SM{number}{text}",
            sender=f"+1555{number:07d}",
            recipient=f"+1500555{number % AGENTS:04d}",  # each agent has one
            body=text,
        )
        posted = world.app.sms_receiver.receive(arrived)
    else:
        who, agent = person(f"usr_{number}", f"Person {number}"), number % AGENTS
        chat_id = f"chat_{number}"
        if world.table.get(Chat.key_of(TENANT, chat_id)) is None:
            world.known(who)
            world.chat(
                who, bot(f"agt_{agent}"), chat_id=chat_id, kind="direct", visibility="private"
            )
        new = NewMessage(tenant=TENANT, chat_id=chat_id, sender=who.ref, text=text, client_id=text)
        posted = world.app.app_messages.post(new)
    world.drain()
    if posted is None:
        raise RuntimeError("a message was not stored")
    return posted.message.chat_id


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the cells of the table for both channels."""
    for sms in (True, False):
        for each in ceilings(sms=sms):
            if each.answers < 10 * GOAL:
                answers = f"{each.answers:,.0f}"
                numbers = (str(each.keys), f"{each.units:.1f}", answers)
                yield "SMS" if sms else "app", f"`{each.form}`", each.kind, *numbers


def main() -> int:
    """Print the keys that allow less than ten times the goal; return the exit status."""
    columns = ("channel", "keys", "units", "number", "an answer", "answers a second")
    print(markdown.table(*columns, rows=rows()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
