"""Renewal of chat summaries, from the previous summary and the messages since.

The claim, the question and the write work as in `agent_summary`. But a chat summary is stored on
the chat's own item, and every write raises the chat's version.
"""

import logging
from dataclasses import dataclass
from typing import Any

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message
from skein.models.common.storage import Is, Query, Update
from skein.models.outbox.jobs import SummaryJob
from skein.models.summaries.summary import Summary, SummaryState
from skein.ports import Clock, Table
from skein.services.chat_state.audience import audience_of
from skein.services.chat_state.history_window import pinned
from skein.services.chat_state.sessions import first_to_summarize
from skein.services.chat_state.snapshot import read_chat
from skein.services.common.optimistic import optimistic
from skein.services.summaries import model as texts
from skein.services.summaries.agent_summary import authors_of, stored_state, text_messages
from skein.services.summaries.model import Summarizer
from skein.services.summaries.staleness import chat_renewal_at
from skein.settings import Settings

MESSAGES_PER_PAGE = 200

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSummaries:
    """Renewal of the chat summaries."""

    table: Table
    clock: Clock
    summarizer: Summarizer
    settings: Settings

    def renew(self, job: SummaryJob) -> None:
        """Renew a chat summary, if it is stale and its cooldown is over.

        If the model fails or its answer is invalid, the old summary stays. Messages beyond the size
        of one question are left for the next renewals.
        """
        try:
            chat = optimistic(self.clock, lambda: self._claim(job))
        except NotFound:
            return
        if chat is None:
            return
        since = first_to_summarize(chat)
        earlier = chat.summary if chat.summary and chat.summary.from_seq >= since else None
        state = chat.summary_state or SummaryState()
        covered = max(earlier.seq if earlier else since - 1, state.tried_seq)
        page = self.table.query(
            Query(
                chat.key.pk,
                first=Message.key_of(chat.tenant, chat.id, covered + 1).sk,
                last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
                limit=MESSAGES_PER_PAGE,
            )
        )
        found = text_messages(chat, page.items)
        # The prompt's token limit serves as a limit in characters: it is far below the real limit,
        # and no tokens have to be counted.
        messages = texts.as_many_as_fit(found, self.settings.max_prompt_tokens)
        seq = Message.from_item(page.items[-1]).seq if page.items else chat.last_seq
        if len(messages) < len(found):
            seq = messages[-1].seq
        if not messages:
            self._settle(chat, None, tried_seq=seq)
            return
        question = texts.ask_chat(chat, earlier.text if earlier else None, messages)
        text = self.summarizer.ask(job, question, texts.CHAT_SCHEMA, texts.paragraph)
        from_seq = earlier.from_seq if earlier else messages[0].seq
        summary = text and Summary(
            text=text,
            from_seq=from_seq,
            seq=seq,
            audience=audience_of(chat, since_seq=from_seq),
            authors=authors_of(earlier, messages),
            at=self.clock.now(),
        )
        self._settle(chat, summary or None)

    def _claim(self, job: SummaryJob) -> Chat | None:
        chat = read_chat(self.table, job.tenant, job.chat_id)
        at, now = chat_renewal_at(chat, self.settings), self.clock.now()
        if not self.summarizer.may_renew(job.tenant, at, now):
            return None
        state = chat.summary_state or SummaryState()
        claimed = state.model_copy(update={"claimed_at": now})
        return self._write(chat, {"summary_state": stored_state(claimed)}, summary_state=claimed)

    def _settle(self, chat: Chat, summary: Summary | None, *, tried_seq: int | None = None) -> None:
        """Store the new summary, or `tried_seq`, or count the failure if neither is given.

        Nothing is stored if another worker claimed the summary or the chat's epoch changed.
        """
        claimed = chat.summary_state or SummaryState()
        if tried_seq is not None:
            settled = claimed.model_copy(update={"tried_seq": tried_seq})
        else:
            settled = claimed.model_copy(
                update={"failures": 0 if summary else claimed.failures + 1}
            )

        def attempt() -> None:
            fresh = read_chat(self.table, chat.tenant, chat.id)
            # Compared as stored, because the table keeps milliseconds and the clock has more.
            unchanged = stored_state(fresh.summary_state) == stored_state(claimed)
            if not unchanged or fresh.epoch != chat.epoch:
                logger.info(
                    "chat summary discarded: a newer one is stored", extra={"chat_id": chat.id}
                )
                return
            change: dict[str, Any] = {"summary_state": stored_state(settled)}
            if summary is not None:
                pin = pinned(fresh, summary, self.settings)
                change["summary"] = summary.model_dump(mode="json")
                change["pinned"] = pin.model_dump(mode="json") if pin else None
            self._write(fresh, change, summary_state=settled)

        try:
            optimistic(self.clock, attempt)
        except NotFound:
            logger.info("chat summary skipped: chat not found", extra={"chat_id": chat.id})

    def _write(self, chat: Chat, change: dict[str, Any], *, summary_state: SummaryState) -> Chat:
        version = chat.version + 1
        self.table.write(
            Update(
                chat.key,
                set=change | {"version": version},
                condition=Is("version", chat.version),
            )
        )
        return chat.model_copy(update={"version": version, "summary_state": summary_state})
