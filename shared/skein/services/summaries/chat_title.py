"""Titles of chats that nobody has named, made once by the light model.

A title is made from the third text on that everyone in the chat was present for. The claim, the
question and the write work as for a chat summary. A title that a person sets meanwhile stays.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message
from skein.models.common.storage import Query
from skein.models.outbox.jobs import SummaryJob
from skein.models.summaries.summary import MadeTitle, SummaryState
from skein.ports import Clock, Table
from skein.services.chat_state.sessions import first_to_summarize
from skein.services.chat_state.snapshot import read_chat
from skein.services.common.optimistic import optimistic, revise
from skein.services.summaries import model as texts
from skein.services.summaries.agent_summary import text_messages
from skein.services.summaries.model import Summarizer
from skein.services.summaries.staleness import TITLE_TEXTS, title_renewal_at
from skein.settings import Settings

ROWS_READ = 50  # more than the texts wanted, because some messages are keywords and notices
TITLED_TEXTS = 10  # the most texts that a title is made from

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTitles:
    """Maker of the titles of chats."""

    table: Table
    clock: Clock
    summarizer: Summarizer
    settings: Settings

    def make(self, job: SummaryJob) -> None:
        """Make a chat's title, if it has none and nobody has named or unnamed the chat.

        If the model fails or its answer is invalid, up to two further attempts follow, each after a
        cooldown. If the tenant's budget of the day is spent, the chat stays due.
        """
        try:
            chat = optimistic(self.clock, lambda: self._claim(job))
        except NotFound:
            return
        if chat is None:
            return
        since = max(first_to_summarize(chat), 1)
        page = self.table.query(
            Query(
                chat.key.pk,
                first=Message.key_of(chat.tenant, chat.id, since).sk,
                last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
                limit=ROWS_READ,
            )
        )
        messages = text_messages(chat, page.items)[:TITLED_TEXTS]
        state = chat.title_state or SummaryState()
        if len(messages) < TITLE_TEXTS:
            settled = state.model_copy(update={"tried_seq": chat.last_seq, "claimed_at": None})
            self._settle(chat, {"title_state": settled})
            return
        question = texts.ask_title(chat, messages)
        title = self.summarizer.ask(job, question, texts.TITLE_SCHEMA, texts.short_title)
        if title is None:
            settled = state.model_copy(update={"failures": state.failures + 1})
            self._settle(chat, {"title_state": settled})
            return
        made = MadeTitle(from_seq=messages[0].seq, seq=messages[-1].seq)
        self._settle(chat, {"title": title, "made_title": made, "title_state": None})

    def _claim(self, job: SummaryJob) -> Chat | None:
        chat = read_chat(self.table, job.tenant, job.chat_id)
        at, now = title_renewal_at(chat, self.settings), self.clock.now()
        if not self.summarizer.may_renew(job.tenant, at, now):
            return None
        state = chat.title_state or SummaryState()
        claimed, write = revise(chat, {"title_state": state.model_copy(update={"claimed_at": now})})
        self.table.write(write)
        return claimed

    def _settle(self, chat: Chat, change: Mapping[str, Any]) -> None:
        """Store the title or the failure.

        Nothing is stored if another worker claimed the title, a person named the chat, a person
        joined a private chat, or messages were deleted meanwhile.
        """

        def attempt() -> None:
            fresh = read_chat(self.table, chat.tenant, chat.id)
            stored = chat.attributes().get("title_state")
            unchanged = fresh.attributes().get("title_state") == stored and not fresh.named
            same_start = first_to_summarize(fresh) == first_to_summarize(chat)
            if not unchanged or not same_start or fresh.title or fresh.epoch != chat.epoch:
                logger.info("title discarded: the chat has changed", extra={"chat_id": chat.id})
                return
            _, write = revise(fresh, change)
            self.table.write(write)

        try:
            optimistic(self.clock, attempt)
        except NotFound:
            logger.info("title skipped: chat not found", extra={"chat_id": chat.id})
