"""Read and write threads: the benches and one thread, each write resting on what was read."""

import json
from collections.abc import Mapping
from typing import NamedTuple, Self

from skein.errors import Conflict, NotFound, TooLarge
from skein.models.audience import Audience
from skein.models.ownership import Reach, effect_key
from skein.models.storage import Item, Key, Missing, Put, Write, at_version
from skein.models.thread import Thread, ThreadDone, ThreadRunLink, Workbench
from skein.ports import Clock, Table
from skein.services.common.pagination import FULL

MAX_BENCH_BYTES = 350_000  # an item holds 400 KB


class Found(NamedTuple):
    """The benches within reach and one thread, as read in one call.

    Attributes:
        done: What came of it, if the effect at hand was carried out before.
    """

    reach: Reach
    thread_id: str | None
    items: Mapping[Key, Item]
    done: ThreadDone | None

    @classmethod
    def read(
        cls, table: Table, reach: Reach, thread_id: str | None, effect: str | None = None
    ) -> Self:
        """Read them.

        Args:
            table: Where.
            reach: Whose.
            thread_id: Which thread; None if only the benches matter.
            effect: The id of the effect at hand.
        """
        owned = [(reach.tenant, reach.agent_id, scope) for scope in reach.scopes]
        marks = [effect_key(*each, effect) for each in owned] if effect is not None else []
        keys = [Workbench.key_of(*each) for each in owned]
        if thread_id is not None:
            keys += [Thread.ended_key_of(*each, thread_id) for each in owned]
        items = table.get_many([*keys, *marks])
        done = next((ThreadDone.from_item(items[key]) for key in marks if key in items), None)
        return cls(reach, thread_id, items, done)

    def bench(self, scope: str | None) -> Workbench:
        """The bench of one partition."""
        key = Workbench.key_of(self.reach.tenant, self.reach.agent_id, scope)
        return Workbench.found_in(self.items.get(key))

    def anywhere(self) -> Thread | None:
        """The thread, open or ended, if it may be shown; None if there is none."""
        tenant, agent_id = self.reach.tenant, self.reach.agent_id
        for scope in self.reach.scopes:
            thread = self.bench(scope).find(self.thread_id)
            if thread is None and self.thread_id is not None:
                key = Thread.ended_key_of(tenant, agent_id, scope, self.thread_id)
                item = self.items.get(key)
                thread = Thread.from_item(item) if item is not None else None
            if thread is not None and self.reach.shows(thread):
                return thread
        return None

    def thread(self) -> Thread:
        """The thread, open or ended.

        Raises:
            NotFound: There is none that may be shown.
        """
        thread = self.anywhere()
        if thread is None:
            raise NotFound("there is no such thread")
        return thread

    def open_thread(self) -> Thread:
        """The thread, which is open.

        Raises:
            NotFound: There is none that may be shown.
            Conflict: It is completed or archived.
        """
        thread = self.thread()
        if thread.status != "open":
            raise Conflict(f"this thread is {thread.status}")
        return thread


def at(reach: Reach, scope: str | None) -> Reach:
    """One of the partitions within reach."""
    return reach.model_copy(update={"scopes": (scope,)})


def stint(
    thread: Thread, run_id: str, activation: int | None, audience: Audience, clock: Clock
) -> Write:
    """The write that an activation worked at a thread (idempotent but for its time).

    Args:
        thread: Which.
        run_id: Of the activation.
        activation: Its number in the run.
        audience: Who was there for everything that it was shown.
        clock: The time.
    """
    mark = ThreadRunLink(
        thread_id=thread.id,
        run_id=run_id,
        activation=activation,
        audience=audience,
        shown_at=clock.now(),
    )
    place = (thread.tenant, thread.agent_id, thread.scope)
    return Put(ThreadRunLink.key_of(*place, thread.id, run_id, activation), mark.attributes())


def moved(there: Reach, found: Found, after: Thread) -> list[Write]:
    """The writes that put a changed thread where it then belongs."""
    bench = found.bench(after.scope)
    if after.status == "open":
        return [put(there, bench, bench.with_thread(after))]
    return [
        Put(after.ended_key, after.attributes(), Missing()),
        put(there, bench, bench.without(after.id)),
    ]


def _size(there: Reach, bench: Workbench) -> int:
    """How much the threads of a bench hold that may be shown there, in bytes."""
    return sum(_bytes(thread.attributes()) for thread in bench.threads if there.shows(thread))


def _bytes(item: Item) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode(errors="surrogatepass"))


def put(there: Reach, before: Workbench, after: Workbench) -> Write:
    """The write that puts a bench in the place of the one that was read.

    Raises:
        TooLarge: The threads on it hold too much text: those that may be shown there, half of what
            an item holds, or all of them.
    """
    item = after.model_copy(update={"version": before.version + 1}).attributes()
    most_shown = MAX_BENCH_BYTES if there.place is None else MAX_BENCH_BYTES // 2
    size = _size(there, after)
    if size > max(most_shown, _size(there, before)):
        raise TooLarge("the open threads hold too much text; shorten one or end one first")
    if _bytes(item) > MAX_BENCH_BYTES:
        raise TooLarge(FULL)
    key = Workbench.key_of(there.tenant, there.agent_id, there.scopes[0])
    return Put(key, item, at_version(before.version))
