"""Chat summaries: a background task that extends each chat's summary with new messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from skein.models.chats.chat import Chat, Message
from skein.models.chats.summary import Summary
from skein.services.chat_state.history_window import pinned
from skein.services.chat_state.sessions import first_to_summarize
from skein.services.chats.staleness import chat_renewal_at
from skein.summaries import model as texts
from skein.summaries.summary_task import (
    ChatSummaryTask,
    SummaryClaim,
    SummaryRequest,
    authors_of,
    text_messages,
    words_of,
)

MESSAGES_PER_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSummaries(ChatSummaryTask):
    """Task that renews a chat's summary from the previous summary and the messages after it.

    Messages that do not fit into one question are left for the next renewals.
    """

    stored_in: ClassVar[str] = "summary_state"

    def renewal_at(self, chat: Chat) -> datetime | None:
        """Return when the summary may be renewed; None if it is not stale."""
        return chat_renewal_at(chat, self.settings)

    def prepared(self, claim: SummaryClaim) -> SummaryRequest:
        """Read the messages after the summary, and render the question."""
        chat = claim.chat
        since = first_to_summarize(chat)
        earlier = chat.summary if chat.summary and chat.summary.from_seq >= since else None
        covered = max(earlier.seq if earlier else since - 1, claim.state.tried_seq)
        rows = self.rows(chat, covered + 1, limit=MESSAGES_PER_PAGE)
        found = text_messages(chat, rows)
        # The prompt's limit in tokens is used as a limit in characters. This is far below the real
        # limit, and no tokens have to be counted.
        messages = texts.as_many_as_fit(chat, found, self.settings.max_prompt_tokens)
        seq = Message.from_item(rows[-1]).seq if rows else chat.last_seq
        if not messages:
            return SummaryRequest(seq)
        if len(messages) < len(found):
            seq = messages[-1].seq
        prompt = texts.ask_chat(chat, earlier.text if earlier else None, messages)
        from_seq = earlier.from_seq if earlier else messages[0].seq
        return SummaryRequest(
            seq,
            from_seq,
            authors_of(earlier, messages),
            words_of(messages),
            prompt,
            texts.CHAT_SCHEMA,
            texts.paragraph,
        )

    def derived(self, fresh: Chat, made: Mapping[str, object]) -> Mapping[str, object]:
        """Return the pinned summary, which prompts show: the new summary, or the current one."""
        summary = made.get("summary")
        if not isinstance(summary, Summary):
            return {}
        return {"pinned": pinned(fresh, summary, self.settings)}
