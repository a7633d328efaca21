"""Thread storage: read the thread indexes and one thread, and build the conditional writes."""

import json
from collections.abc import Mapping
from typing import NamedTuple, Self

from skein.errors import Conflict, NotFound, TooLarge
from skein.models.common.audience import Audience
from skein.models.common.ownership import Reach, effect_key
from skein.models.common.storage import Item, Key, Missing, Put, Write, at_version
from skein.models.workspace.thread import Thread, ThreadEffect, ThreadIndex, ThreadRunLink
from skein.ports import Clock, Table
from skein.services.items.store import FULL

MAX_INDEX_BYTES = 350_000  # DynamoDB limits an item to 400 KB


class ThreadSnapshot(NamedTuple):
    """The thread indexes within reach and one thread, read in one call.

    Attributes:
        done: The recorded result of the effect, if an earlier attempt carried it out.
    """

    reach: Reach
    thread_id: str | None
    items: Mapping[Key, Item]
    done: ThreadEffect | None

    @classmethod
    def read(
        cls, table: Table, reach: Reach, thread_id: str | None, effect: str | None = None
    ) -> Self:
        """Read the thread indexes, the thread and the effect's record.

        Args:
            reach: The agent and the partitions to read.
            thread_id: The thread's id; None reads only the thread indexes.
            effect: The id of the run's effect, if any.
        """
        owned = [(reach.tenant, reach.agent_id, scope) for scope in reach.scopes]
        effect_keys = [effect_key(*each, effect) for each in owned] if effect is not None else []
        keys = [ThreadIndex.key_of(*each) for each in owned]
        if thread_id is not None:
            keys += [Thread.ended_key_of(*each, thread_id) for each in owned]
        items = table.get_many([*keys, *effect_keys])
        done = next(
            (ThreadEffect.from_item(items[key]) for key in effect_keys if key in items), None
        )
        return cls(reach, thread_id, items, done)

    def index_of(self, scope: str | None) -> ThreadIndex:
        """Return the thread index of one partition; an empty one if none is stored."""
        key = ThreadIndex.key_of(self.reach.tenant, self.reach.agent_id, scope)
        return ThreadIndex.from_optional(self.items.get(key))

    def anywhere(self) -> Thread | None:
        """Return the thread, open or ended; None if no such thread may be shown."""
        tenant, agent_id = self.reach.tenant, self.reach.agent_id
        for scope in self.reach.scopes:
            thread = self.index_of(scope).find(self.thread_id)
            if thread is None and self.thread_id is not None:
                key = Thread.ended_key_of(tenant, agent_id, scope, self.thread_id)
                item = self.items.get(key)
                thread = Thread.from_item(item) if item is not None else None
            if thread is not None and self.reach.shows(thread):
                return thread
        return None

    def thread(self) -> Thread:
        """Return the thread, open or ended.

        Raises:
            NotFound: No such thread may be shown.
        """
        thread = self.anywhere()
        if thread is None:
            raise NotFound("thread not found")
        return thread

    def open_thread(self) -> Thread:
        """Return the thread, and check that the thread is open.

        Raises:
            NotFound: No such thread may be shown.
            Conflict: The thread is completed or archived.
        """
        thread = self.thread()
        if thread.status != "open":
            raise Conflict(f"this thread is {thread.status}")
        return thread


def at(reach: Reach, scope: str | None) -> Reach:
    """Narrow a reach to one of its partitions."""
    return reach.model_copy(update={"scopes": (scope,)})


def run_link(
    thread: Thread, run_id: str, activation: int, audience: Audience, clock: Clock
) -> Write:
    """Return the write that links an activation to a thread (idempotent, except `shown_at`).

    Args:
        thread: The thread that was active.
        run_id: The activation's run.
        activation: The number of the activation in the run.
        audience: Audience of everything that the activation was shown.
        clock: Gives `shown_at`.
    """
    link = ThreadRunLink(
        thread_id=thread.id,
        run_id=run_id,
        activation=activation,
        audience=audience,
        shown_at=clock.now(),
    )
    owned = (thread.tenant, thread.agent_id, thread.scope)
    return Put(ThreadRunLink.key_of(*owned, thread.id, run_id, activation), link.attributes())


def moved(there: Reach, found: ThreadSnapshot, after: Thread) -> list[Write]:
    """Return the writes that store a changed thread as open or ended."""
    index = found.index_of(after.scope)
    if after.status == "open":
        return [put(there, index, index.with_thread(after))]
    return [
        Put(after.ended_key, after.indexed(), Missing()),
        put(there, index, index.without(after.id)),
    ]


def _size(there: Reach, index: ThreadIndex) -> int:
    """Return the size in bytes of the threads that may be shown to the readers."""
    return sum(_bytes(thread.attributes()) for thread in index.threads if there.shows(thread))


def _bytes(item: Item) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode(errors="surrogatepass"))


def put(there: Reach, before: ThreadIndex, after: ThreadIndex) -> Write:
    """Return the write that replaces a thread index (optimistic lock on `before`).

    The size limit is 350,000 bytes for the whole thread index. For agents, the threads that may be
    shown to the readers are limited to half of that. A thread index whose shown threads do not grow
    passes this second limit.

    Raises:
        TooLarge: The threads hold too much text.
    """
    item = after.model_copy(update={"version": before.version + 1}).to_item()
    most_shown = MAX_INDEX_BYTES if there.readers is None else MAX_INDEX_BYTES // 2
    size = _size(there, after)
    if size > max(most_shown, _size(there, before)):
        raise TooLarge("the open threads contain too much text; shorten or end one first")
    if _bytes(item) > MAX_INDEX_BYTES:
        raise TooLarge(FULL)
    key = ThreadIndex.key_of(there.tenant, there.agent_id, there.scopes[0])
    return Put(key, item, at_version(before.version))
