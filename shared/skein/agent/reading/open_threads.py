"""Which threads an agent has open where it is, and which of them it is at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skein.agent.reading.shown_documents import OnShow
from skein.models.audience import Audience, may_show
from skein.models.chat import Chat, Membership
from skein.models.intent import owned_partition
from skein.models.run import Run
from skein.models.storage import Item, Key
from skein.models.thread import BENCH, Thread, Workbench
from skein.services.workspace.thread_changes import document_in, document_keys


@dataclass(frozen=True, slots=True)
class OpenThreads:
    """The open threads that may be shown at one place.

    Attributes:
        active: The one that the agent is at.
        pending: The others, the most important first.
        of_chat: It is the one that the chat has pinned.
        here: It belongs to the audience of the place itself.
    """

    active: Thread | None = None
    pending: tuple[Thread, ...] = ()
    of_chat: bool = False
    here: bool = False

    @property
    def keys(self) -> list[Key]:
        """Where the documents of the active one stand."""
        return document_keys(self.active, self.active.documents) if self.active else []

    def documents(self, found: Mapping[Key, Item], place: Audience) -> tuple[OnShow, ...]:
        """The documents of the active one, from what was read; those that are gone by name."""
        if self.active is None:
            return ()
        thread = self.active
        return tuple(
            OnShow(name, document_in(thread, name, found, place)) for name in thread.documents
        )


NO_THREADS = OpenThreads()


def open_threads(
    run: Run,
    chat: Chat | None,
    member: Membership | None,
    scope: str | None,
    owned: Sequence[Item],
    place: Audience,
) -> OpenThreads:
    """The threads that are open for a run that looks at `chat`.

    A run stays with the thread that it was shown or has switched to. At first that is the one
    pinned to the chat in which it was triggered, else the one that is active for the audience of
    the place. One that has ended, or may not be shown there, is passed over.

    Args:
        run: Whose.
        chat: None for no chat.
        member: The agent's place in it.
        scope: Which of the agent's partitions holds what it makes there.
        owned: What was read of the agent's partitions.
        place: Who will read what is said.
    """
    benches = {item["pk"]: Workbench.from_item(item) for item in owned if item["sk"] == BENCH}
    threads = {
        thread.id: thread
        for bench in benches.values()
        for thread in bench.threads
        if may_show(thread.audience, place)
    }
    here = benches.get(owned_partition(run.tenant, run.agent_id, scope))
    home = chat is not None and chat.id == run.chat_id
    pin = member.pinned_thread_id if member is not None and home else None
    wanted = (run.active_thread_id, pin, here.active_thread_id if here else None)
    active_id = next((each for each in wanted if each in threads), None)
    active = threads.pop(active_id) if active_id is not None else None
    return OpenThreads(
        active=active,
        pending=tuple(sorted(threads.values(), key=lambda thread: thread.order)),
        of_chat=active is not None and active.id == pin,
        here=active is not None and active.scope == scope,
    )
