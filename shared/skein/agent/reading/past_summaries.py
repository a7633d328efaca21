"""The summaries that stand for what lies before the window of messages, if they may be shown."""

from skein.models.audience import may_show
from skein.models.chat import Chat
from skein.models.summary import PinnedSummary
from skein.services.chat_state.audience import destination_of
from skein.services.chat_state.history_window import pin_of


def summary_before(chat: Chat | None) -> PinnedSummary | None:
    """The summary of what lies before the window, unless somebody is there who was not then."""
    if chat is None or chat.pinned is None:
        return None
    return chat.pinned if may_show(chat.pinned.audience, destination_of(chat)) else None


def fuller_summary(chat: Chat | None) -> PinnedSummary | None:
    """The chat's newest summary, if it may be shown and covers more than the pinned one."""
    record = chat.record if chat is not None else None
    if chat is None or record is None or record.seq <= summed_up(summary_before(chat)):
        return None
    if not may_show(record.audience, destination_of(chat)):
        return None
    return pin_of(record, record.seq + 1)


def summed_up(summary: PinnedSummary | None) -> int:
    """Up to which message a summary stands for what was said."""
    return summary.seq if summary is not None else 0
