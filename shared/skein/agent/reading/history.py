"""The history of the active chat: its shown messages and the summary of the rest."""

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from skein.models.chats.chat import Chat, Membership, Message
from skein.models.common.audience import may_show
from skein.models.common.storage import Item, Key
from skein.models.directory.user import User
from skein.models.runs.run import Run
from skein.models.summaries.summary import PinnedSummary
from skein.services.chat_state.audience import destination_of
from skein.services.chat_state.history_window import pin_of, shown_from
from skein.services.chat_state.sessions import first_of_session, reset_in
from skein.services.common.time_zones import zone_of_person
from skein.settings import Settings

UTC = ZoneInfo("UTC")
MAX_ASKED = 20  # messages to answer, if they are of an earlier session


@dataclass(frozen=True, slots=True)
class History:
    """Messages of the active chat, and its summaries.

    Attributes:
        messages: The history window, and the trigger's message if it is older than the window.
        before: The summary of the messages before the history window.
        fuller: The newest summary, if it covers more messages than `before`. It replaces messages
            of the window for which there is no room.
        seen_to: The SEEN watermark after an incomplete reading; None if SEEN moves to the highest
            message.
    """

    messages: tuple[Message, ...] = ()
    before: PinnedSummary | None = None
    fuller: PinnedSummary | None = None
    seen_to: int | None = None

    @property
    def shown_seq(self) -> int:
        """The SEEN watermark after the history is shown."""
        if self.seen_to is not None:
            return self.seen_to
        return max((message.seq for message in self.messages), default=0)


def first_seq_to_read(run: Run, chat: Chat, settings: Settings) -> int:
    """Return the seq of the first message to read.

    The messages to answer can be of an earlier session. At most 20 of them are read then, and
    none before a reset.
    """
    start = shown_from(chat, summary_before(chat), settings)
    asked = run.trigger.from_seq if chat.id == run.chat_id else None
    if asked is None or asked >= first_of_session(chat):
        return start
    return min(start, max(asked, reset_in(chat), chat.last_seq - MAX_ASKED + 1))


def keys_of_runs_at_work(run: Run, chat: Chat | None, member: Membership | None) -> list[Key]:
    """Return the keys of the agent's own runs whose messages a run leaves to them.

    The list is empty for a run that answers the chat's messages itself.
    """
    if chat is None or member is None or not run.leaves_messages(chat.id):
        return []
    run_ids = (member.running_run, *member.resuming)
    return [Run.key_of(run.tenant, run_id) for run_id in run_ids if run_id is not None]


def shown_to(
    run: Run, chat: Chat | None, member: Membership | None, found: Mapping[Key, Item]
) -> int | None:
    """Return the seq of the last message that a prompt may show; None for no limit.

    The run of a plan or a service leaves out the messages that another run of the agent is about to
    answer. So each message is answered once, and its own run finds it unseen.

    Args:
        chat: The active chat.
        member: The agent's membership in the active chat, read together with the chat.
        found: The items that were read, with those of `keys_of_runs_at_work`.
    """
    if chat is None or member is None or not run.leaves_messages(chat.id):
        return None
    keys = keys_of_runs_at_work(run, chat, member)
    asked = [_asked_of(Run.from_item(found[key]), chat) for key in keys if key in found]
    if member.queued_run is not None:
        asked.append(member.queued_run.trigger.from_seq)
    return min([chat.last_seq, *(seq - 1 for seq in asked if seq is not None)])


def _asked_of(run: Run, chat: Chat) -> int | None:
    """Return the seq of the first message of a chat that a run at work answers."""
    if run.resumed is not None and run.resumed.chat_id == chat.id:
        return run.resumed.seq
    return run.trigger.from_seq if run.chat_id == chat.id else None


def summary_before(chat: Chat | None) -> PinnedSummary | None:
    """Return the summary of the messages before the window, if it may be shown."""
    if chat is None or chat.pinned is None:
        return None
    return chat.pinned if may_show(chat.pinned.audience, destination_of(chat)) else None


def fuller_summary(chat: Chat | None) -> PinnedSummary | None:
    """Return the newest summary, if showable and fuller than the pinned one."""
    summary = chat.summary if chat is not None else None
    if chat is None or summary is None or summary.seq <= summed_up(summary_before(chat)):
        return None
    if not may_show(summary.audience, destination_of(chat)):
        return None
    return pin_of(summary, summary.seq + 1)


def summed_up(summary: PinnedSummary | None) -> int:
    """Return the seq of the last message that a summary covers; 0 for no summary."""
    return summary.seq if summary is not None else 0


def zone_of_entries(person: User | None, agent_zone: str) -> ZoneInfo:
    """Return the time zone of entries: UTC, or in a direct chat that of NOW.

    Args:
        person: The user record of a direct chat's person, if it may be shown.
        agent_zone: The agent's time zone.
    """
    if person is None:
        return UTC
    return ZoneInfo(zone_of_person(person) or agent_zone)
