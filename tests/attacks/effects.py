"""Who changed what in a story: the messages, items and runs that each run and task wrote."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from skein.memory.models.memory import Memory
from skein.models.chats.chat import Message
from skein.models.common.storage import Item, Key
from skein.models.runs.run import Run
from skein.models.visibility.ownership import DerivedItem
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.workspace.models.document import Document
from skein.workspace.models.thread import Thread
from tests.fakes.table import MemoryTable

Thing = Memory | Goal | Plan | Thread | Document | Message | Run

KINDS: Mapping[str, type[Thing]] = {
    str(prefix): kind
    for kind in (Memory, Goal, Plan, Thread, Document)
    for prefix in (kind.PREFIX, *([kind.PREFIX.ended] if kind is not Document else []))
}
"""The kinds of items by the prefixes of their sort keys."""

BOOKKEEPING = {"version", "updated_at", "considered", "active_at", "next_at", "fades_at", "reason"}
"""Attributes of items that say nothing about what an agent keeps."""


class WatchedTable(MemoryTable):
    """A table whose keys are asked for again and again."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._keys: tuple[int, list[Key]] = (-1, [])

    def all_keys(self) -> list[Key]:
        """See `MemoryTable`; read again only if something was written."""
        if self._keys[0] != self.changes:
            self._keys = self.changes, super().all_keys()
        return self._keys[1]


@dataclass(frozen=True)
class Actor:
    """Who wrote: a run, a background task, or somebody else.

    Attributes:
        kind: `else` stands for people, operators and Skein's own jobs.
        run: The run, as it was afterwards.
        chats: The chats for which it works: those that started the run, that its plan or service
            names, or in which it waited; or that of the task.
        insiders: The people of these chats.
        ordered: Whether the model was shown the order of the story.
    """

    kind: Literal["run", "task", "else"]
    run: Run | None = None
    chats: frozenset[str] = frozenset()
    insiders: frozenset[str] = frozenset()
    ordered: bool = False


OTHERS = Actor("else")


@dataclass(frozen=True)
class Change:
    """A change of one thing by one actor; None stands for a thing that does not exist."""

    step: int
    actor: Actor
    before: Thing | None
    after: Thing | None

    @property
    def thing(self) -> Thing:
        """What was changed, as it is now if it still exists."""
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found


@dataclass
class Ledger:
    """All changes of a story, in order, each with its actor."""

    table: WatchedTable
    changes: list[Change] = field(default_factory=list)
    actors: list[Actor] = field(default_factory=list)
    _known: dict[tuple[str, str], Thing] = field(default_factory=dict)

    def note(self, step: int, actor: Actor) -> list[Change]:
        """Ascribe all that was written since the last call to an actor."""
        self.actors.append(actor)
        keys, self.table.touched = list(self.table.touched), {}
        keys = [key for key in keys if _kind_of(key) is not None]
        items = [self.table.get(key) for key in keys]
        now = {_name(thing): thing for thing in map(_thing, keys, items) if thing is not None}
        gone = {name for name in map(self._name_at, keys) if name is not None} - {*now}
        new: list[Change] = []
        for name in (*now, *sorted(gone)):
            before, after = self._known.get(name), now.get(name)
            if after is None:
                self._known.pop(name)
            else:
                self._known[name] = after
            new.append(Change(step, actor, before, after))
        self.changes += new
        return new

    def _name_at(self, key: Key) -> tuple[str, str] | None:
        """The name of the known thing that was stored under a key."""
        return next((n for n, thing in self._known.items() if thing.key == key), None)


def contents(item: DerivedItem) -> Mapping[str, object]:
    """What an item says and whether it is live, without bookkeeping."""
    return {name: value for name, value in item.attributes().items() if name not in BOOKKEEPING}


def _kind_of(key: Key) -> type[Thing] | None:
    if key.sk.startswith(Message.PREFIX):
        return Message
    if key.sk.startswith(Run.PREFIX) and "#STEP#" not in key.sk:
        return Run
    prefix = max((each for each in KINDS if key.sk.startswith(each)), key=len, default=None)
    return KINDS[prefix] if prefix is not None else None


def _thing(key: Key, item: Item | None) -> Thing | None:
    kind = _kind_of(key)
    return kind.from_item(item) if kind is not None and item is not None else None


def _name(thing: Thing) -> tuple[str, str]:
    """What stays the same while a thing changes: its partition and its id."""
    return thing.key.pk, thing.id
