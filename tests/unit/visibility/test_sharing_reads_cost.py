"""Sharing rules cost nothing without rules, two calls of a turn, and one write for each role."""

from collections import Counter
from collections.abc import Sequence

from skein.models.chats.chat import chat_partition
from skein.models.common.storage import Item, Key, Query
from skein.models.outbox.jobs import RunJob
from skein.recall.models.stored import RecallPassage
from tests.fakes.table import MemoryTable
from tests.support.builders import TENANT
from tests.support.family import COACH, EMMA, TOM, Family, chat_of
from tests.support.recalling import indexed

SECRET = "The piano lesson with Mrs Okafor moved to Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"
SECOND = "chat_second"
MAX_MORE_CALLS, MAX_MORE_SEARCHES = 2, 8  # of a turn with rules


class Watched(MemoryTable):
    """A table that remembers the partitions of the items that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.partitions: set[str] = set()

    def get(self, key: Key) -> Item | None:
        self.partitions.add(key.pk)
        return super().get(key)

    def get_many(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        self.partitions.update(key.pk for key in keys)
        return super().get_many(keys, consistent=consistent)


class Costs(Family):
    """A family whose calls of the table are counted."""

    def empty_table(self) -> MemoryTable:
        return Watched()

    def of_turn(self) -> Counter[str]:
        """Return how many calls the turn takes in which Tom asks, by method."""
        self.post(ASKED, TOM, chat_id=chat_of(TOM))
        self.clock.advance(10)
        [job] = self.queues.ready("turns")
        assert isinstance(job, RunJob)
        self.table.log = []
        self.take(job)
        return Counter(call.method for call in self.table.log)

    def passages(self, seq: int) -> int:
        """Return how many items of the index a message of Emma has."""
        partition = chat_partition(TENANT, chat_of(EMMA))
        found = self.table.query(Query.under(partition, RecallPassage.prefix_of(COACH.id)))
        return sum(item["seq"] == seq for item in found.items)


def costs(*, roles: Sequence[str] = ("daughter",), rules: Sequence[tuple[str, str]] = ()) -> Costs:
    """Return a family in which Emma has said a secret, and Tom something in a second chat."""
    family = Costs.made()
    assert isinstance(family, Costs)
    family.give(EMMA, *roles)
    for whose, to in rules:
        family.rule(whose, to)
    family.says(EMMA, "Hello there, how are you?")
    family.says(EMMA, SECRET)
    direct = {"kind": "direct", "visibility": "private", "title": None, "consolidate": False}
    family.chat(TOM, COACH, chat_id=SECOND, **direct)
    family.post("Mrs Okafor plays the piano well", TOM, chat_id=SECOND)
    family.drain()
    family.quiet()
    indexed(family, SECOND)
    family.says(TOM, "Good morning")
    return family


def test_turns_of_a_tenant_without_rules_read_nothing_of_sharing() -> None:
    family = costs()
    assert isinstance(family.table, Watched)
    family.table.partitions.clear()
    assert family.of_turn()
    assert not [each for each in family.table.partitions if "SHARING" in each]


def test_turn_with_rules_takes_two_calls_more_at_most() -> None:
    without, family = costs().of_turn(), costs(rules=[("daughter", "father")])
    told = family.of_turn()
    assert SECRET in "\n".join(each.content for each in family.model.requests[-1].messages)
    searches = told.pop("nearest") - without.pop("nearest")
    assert 0 < searches <= MAX_MORE_SEARCHES
    assert told.total() - without.total() <= MAX_MORE_CALLS


def test_message_takes_one_write_more_for_each_role_whose_rules_cover_it() -> None:
    both = ("daughter", "student")
    secret = next(m.seq for m in costs().messages(chat_of(EMMA)) if m.text == SECRET)
    rules = [("daughter", "father"), ("daughter", "mother"), ("student", "teacher")]
    counted = []
    for count in (0, 1, 2, 3):
        family = costs(roles=both, rules=rules[:count])
        notices = sum(m.kind == "notice" for m in family.messages(chat_of(EMMA)))
        counted.append(family.passages(secret + notices))
    assert counted == [1, 2, 2, 3]
