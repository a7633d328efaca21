"""Titles of chats: a background task that names each chat once, from its first messages.

A title is made as soon as a chat has three text messages. In a private chat, only messages after
the last person joined count. If a person sets a title meanwhile, the person's title is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from skein.models.chats.chat import Chat
from skein.models.chats.summary import MadeTitle
from skein.services.chat_state.sessions import first_to_summarize
from skein.services.chats.staleness import TITLE_TEXTS, title_renewal_at
from skein.summaries import model as texts
from skein.summaries.summary_task import (
    ChatSummaryTask,
    SummaryClaim,
    SummaryRequest,
    authors_of,
    messages_for_elsewhere,
    words_of,
)

ROWS_READ = 50  # more than needed, because some messages are keywords and notices
TITLED_TEXTS = 10  # texts from which a title is made, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTitles(ChatSummaryTask):
    """Task that makes a chat's title. After a failure, there are at most two further attempts."""

    stored_in: ClassVar[str] = "title_state"

    def renewal_at(self, chat: Chat) -> datetime | None:
        """Return when a title may be made; None if the chat does not need a title."""
        return title_renewal_at(chat, self.settings)

    def prepared(self, claim: SummaryClaim) -> SummaryRequest:
        """Read the chat's first messages, and render the question if there are at least three."""
        chat = claim.chat
        since = max(first_to_summarize(chat), 1)
        messages = messages_for_elsewhere(chat, self.rows(chat, since, limit=ROWS_READ))[
            :TITLED_TEXTS
        ]
        if len(messages) < TITLE_TEXTS:
            return SummaryRequest(chat.last_seq)
        prompt, seq = texts.ask_title(chat, messages), messages[-1].seq
        authors = authors_of(None, messages)
        return SummaryRequest(
            seq,
            messages[0].seq,
            authors,
            words_of(messages),
            prompt,
            texts.TITLE_SCHEMA,
            texts.short_title,
        )

    def made(self, claim: SummaryClaim, batch: SummaryRequest, text: str) -> dict[str, object]:
        """Return the chat's new attributes: the title, its authors and its source messages."""
        return {
            "title": text,
            "title_authors": batch.authors,
            "made_title": MadeTitle(from_seq=batch.from_seq, seq=batch.seq),
        }

    def derived(self, fresh: Chat, made: Mapping[str, object]) -> Mapping[str, object]:
        """Return the change that removes the state of the attempts, if a title was made."""
        return {"title_state": None} if made else {}

    def fits(self, chat: Chat, fresh: Chat) -> bool:
        """Return whether a new title still fits the chat.

        It does not fit if, since the claim, the chat has got another title or a new reader, or a
        message was deleted.
        """
        same_start = first_to_summarize(fresh) == first_to_summarize(chat)
        unnamed = not fresh.named and not fresh.title
        return unnamed and same_start and fresh.epoch == chat.epoch
