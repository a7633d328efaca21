"""What is read of an agent's threads before anything is done to one: the benches and one thread."""

from collections.abc import Mapping
from typing import NamedTuple, Self

from skein.errors import Conflict, NotFound
from skein.models.ownership import Reach, effect_key
from skein.models.storage import Item, Key
from skein.models.thread import Thread, ThreadDone, Workbench
from skein.ports import Table


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
