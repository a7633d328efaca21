"""Renews chats' shared summaries: from the one before and the messages since, never from itself.

Claimed, asked and kept like an agent's note (`summaries`), but on the chat's own item, whose
version every write raises.
"""

import logging
from dataclasses import dataclass
from typing import Any

from skein.errors import NotFound
from skein.models.chat import Chat, Message
from skein.models.jobs import SummaryJob
from skein.models.storage import Is, Update
from skein.models.summary import Summary, SummaryState
from skein.ports import Clock, Table
from skein.services.chat_state.audience import audience_of
from skein.services.chat_state.history_window import pinned
from skein.services.chat_state.sessions import summed_up_from
from skein.services.common.optimistic import optimistic
from skein.services.summaries import model as texts
from skein.services.summaries.agent_summary import said, stored_state
from skein.services.summaries.model import Summarizer
from skein.services.summaries.staleness import chat_renewal_at
from skein.settings import Settings

MESSAGES_AT_ONCE = 200

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSummaries:
    """Keeps each chat's shared summary."""

    table: Table
    clock: Clock
    summarizer: Summarizer
    settings: Settings

    def renew(self, job: SummaryJob) -> None:
        """Renew a chat's summary, if it is behind and its cooldown is over.

        A model that fails, or answers something unfit, leaves the old one as it is. What is
        more than one question holds is taken in several goes.
        """
        try:
            chat = optimistic(self.clock, lambda: self._claim(job))
        except NotFound:
            return
        if chat is None:
            return
        since = summed_up_from(chat)
        earlier = chat.record if chat.record and chat.record.from_seq >= since else None
        state = chat.record_state or SummaryState()
        covered = max(earlier.seq if earlier else since - 1, state.tried_seq)
        page = self.table.query(
            chat.key.pk,
            first=Message.key_of(chat.tenant, chat.id, covered + 1).sk,
            last=Message.key_of(chat.tenant, chat.id, chat.last_seq).sk,
            limit=MESSAGES_AT_ONCE,
        )
        found = said(chat, page.items)
        # As many characters as there may be tokens: far fewer than these, and nothing is counted.
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
        record = text and Summary(
            text=text,
            from_seq=from_seq,
            seq=seq,
            audience=audience_of(chat, since_seq=from_seq),
            at=self.clock.now(),
        )
        self._settle(chat, record or None)

    def _claim(self, job: SummaryJob) -> Chat | None:
        chat = self._read(job.tenant, job.chat_id)
        at, now = chat_renewal_at(chat, self.settings), self.clock.now()
        if at is None or at > now or not self.summarizer.may_ask(job.tenant):
            return None
        state = chat.record_state or SummaryState()
        claimed = state.model_copy(update={"claimed_at": now})
        return self._write(chat, {"record_state": stored_state(claimed)}, record_state=claimed)

    def _settle(self, chat: Chat, record: Summary | None, *, tried_seq: int | None = None) -> None:
        """Store a summary, or that none came of it; nothing once somebody else has claimed."""
        claimed = chat.record_state or SummaryState()
        if tried_seq is not None:
            settled = claimed.model_copy(update={"tried_seq": tried_seq})
        else:
            settled = claimed.model_copy(update={"failures": 0 if record else claimed.failures + 1})

        def attempt() -> None:
            fresh = self._read(chat.tenant, chat.id)
            # As stored: the table keeps milliseconds, our clock has more.
            mine = stored_state(fresh.record_state) == stored_state(claimed)
            if not mine or fresh.epoch != chat.epoch:
                logger.info("a chat's summary came too late", extra={"chat_id": chat.id})
                return
            change: dict[str, Any] = {"record_state": stored_state(settled)}
            if record is not None:
                pin = pinned(fresh, record, self.settings)
                change["record"] = record.model_dump(mode="json")
                change["pinned"] = pin.model_dump(mode="json") if pin else None
            self._write(fresh, change, record_state=settled)

        try:
            optimistic(self.clock, attempt)
        except NotFound:
            logger.info("the chat is gone", extra={"chat_id": chat.id})

    def _read(self, tenant: str, chat_id: str) -> Chat:
        item = self.table.get(Chat.key_of(tenant, chat_id))
        if item is None:
            raise NotFound("there is no such chat")
        return Chat.from_item(item)

    def _write(self, chat: Chat, change: dict[str, Any], *, record_state: SummaryState) -> Chat:
        version = chat.version + 1
        self.table.write(
            Update(
                chat.key,
                set=change | {"version": version},
                condition=Is("version", chat.version),
            )
        )
        return chat.model_copy(update={"version": version, "record_state": record_state})
