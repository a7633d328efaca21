"""Forgettings: find what a person wants forgotten, ask, delete it after a yes, and say so.

The question is asked in the person's own private chat with the agent, so nobody else learns what
was found, or whether anything was.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from skein.channels.text_cuts import cut_text
from skein.errors import (
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    Failed,
    NotFound,
    Unprocessable,
)
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.forgetting import Forgetting, ForgettingData, ForgottenMessage
from skein.models.common.audience import Audience
from skein.models.common.base import MemberRef
from skein.models.common.provenance import digest_of
from skein.models.common.storage import Delete, Exists, Query, Write
from skein.models.outbox.jobs import ForgettingJob
from skein.models.runs.run import Run
from skein.ports import Table
from skein.privacy.message_deletion import MessageDeletion
from skein.prompts import render
from skein.recall.message_search import MessageSearch
from skein.recall.words import stems_of
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.chats.views import WINDOW, ChatViews
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.proposals import person_to_ask
from skein.services.choices.wording import YES_NO
from skein.services.common.quoting import on_one_line
from skein.services.delivery.enqueue import why_not_sent
from skein.services.runs.claim import Claim
from skein.services.runs.disclosure import check_post

MAX_FOUND = 10  # messages of one question
SEARCHED = 50  # messages that the search of the index may find
NEWEST = 100  # messages of the active chat that may not be in the index yet
EXCERPT = 50  # characters of a message in the question
WHAT_GOES = "What I answered to this alone, and made from it alone, goes too. Words of others stay."


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgettings:
    """The service by which people have messages forgotten."""

    table: Table
    asking: Asking
    views: ChatViews
    search: MessageSearch
    deletion: MessageDeletion
    chats: Chats

    def ask(self, claim: Claim, query: str, zone: ZoneInfo, *, client_id: str) -> Message | None:
        """Ask the person whom a run answers whether to forget what matches (idempotent).

        Args:
            claim: The run.
            query: Words of the messages.
            zone: The time zone of the days in the question.
            client_id: The idempotency key of the question.

        Returns:
            The question; None if nothing was found.

        Raises:
            Failed: There is nobody to ask, or no private chat to ask in.
            Unprocessable: The query has no words to search for.
            RateLimited: The person was asked often enough.
            ReadersChanged: Someone joined the chat of the activation.
            ExtraWriteFailed: Another worker has taken the run over.
        """
        run = claim.run
        asked = person_to_ask(run)
        if asked is None:
            raise Failed("only a person who asks for it in a message can have messages forgotten")
        stems = frozenset(stems_of(query))
        if not stems:
            raise Unprocessable("query: name words of the messages that are to be forgotten")
        home = self._home(run, asked)
        found = self._found(run, asked, query, stems)
        if not found:
            return None
        snapshot = read_snapshot(self.table, run.tenant, home.id)
        person = snapshot.member(MemberRef(kind="user", id=asked))
        by_sms = person is not None and why_not_sent(person) is None
        refs = [ForgottenMessage(chat_id=each.chat_id, seq=each.seq) for each in found]
        if run.chat_id is not None and run.trigger.seq is not None:
            refs.append(ForgottenMessage(chat_id=run.chat_id, seq=run.trigger.seq))

        def extra_writes(current: ChatSnapshot) -> Sequence[Write]:
            check_post(run, current)
            return (claim.guard,)

        new = NewChoice(
            tenant=run.tenant,
            chat_id=home.id,
            agent=claim.agent,
            client_id=client_id,
            addressee=asked,
            question=question_to_forget(found, zone, by_sms=by_sms),
            options=YES_NO,
            purpose="forgetting",
            **run.posting,
            data=ForgettingData(forgets=tuple(dict.fromkeys(refs))).attributes(),
        )
        return self.asking.ask(new, extra_writes=extra_writes).message

    def carry_out(self, job: ForgettingJob) -> None:
        """Delete the messages of a forgetting, and tell the person once (idempotent)."""
        key = Forgetting.key_of(job.tenant, job.user_id, job.forgetting_id)
        item = self.table.get(key)
        if item is None:
            return
        forgetting = Forgetting.from_item(item)
        for each in forgetting.messages:
            self.deletion.forget(job.tenant, job.user_id, each.chat_id, each.seq)
        self._tell(forgetting)

    def _tell(self, forgetting: Forgetting) -> None:
        """Post a notice in the chat of the question, and end the forgetting with it.

        Without the agent or the person in that chat, nobody is told.
        """
        asked, done = forgetting.messages[-1], Delete(forgetting.key, Exists())
        item = self.table.get(Message.key_of(forgetting.tenant, asked.chat_id, asked.seq))
        question = Message.from_item(item) if item is not None else None
        with suppress(ConditionFailed, ExtraWriteFailed):  # another worker has told the person
            if question is None or question.sender.kind != "agent":
                self.table.write(done)
                return
            notice = NewMessage(
                tenant=forgetting.tenant,
                chat_id=asked.chat_id,
                sender=question.sender.ref,
                kind="notice",
                text=render("notice_forgotten", {"count": str(len(forgetting.messages) - 1)}),
                client_id=f"forgotten:{forgetting.id}",
            )
            try:
                self.chats.post_message(notice, extra_writes=lambda _: (done,))
            except (NotFound, Conflict):
                self.table.write(done)

    def _home(self, run: Run, asked: str) -> Chat:
        """Return the private chat of the person alone with the agent: the run's, or the newest.

        Raises:
            Failed: There is none.
        """
        alone = Audience(open=False, people=(asked,))
        agent = MemberRef(kind="agent", id=run.agent_id)
        listed = self.views.direct_chats(run.tenant, asked, limit=WINDOW).items
        chats = [own.chat for own in listed if own.chat.readers == alone and own.chat.has(agent)]
        here = [chat for chat in chats if chat.id == run.chat_id]
        if not chats:
            raise Failed("the person has no private direct chat with you: ask for one there first")
        return (here or chats)[0]

    def _found(self, run: Run, asked: str, query: str, stems: frozenset[str]) -> list[Message]:
        """Return what the person wrote, and what agents said from it, with words of the query."""
        agent = MemberRef(kind="agent", id=run.agent_id)
        entries = self.search.find(run.tenant, asked, query, limit=SEARCHED)
        messages = [each.message for each in entries if each.chat.has(agent)]
        if run.chat_id is not None:
            pk = chat_partition(run.tenant, run.chat_id)
            page = self.table.query(
                Query.under(pk, Message.PREFIX, limit=NEWEST, newest_first=True)
            )
            chat = read_snapshot(self.table, run.tenant, run.chat_id).chat
            messages += [chat.as_now(Message.from_item(item)) for item in page.items]
        own = MemberRef(kind="user", id=asked)
        person = (digest_of(asked),)
        known = {
            (each.chat_id, each.seq): each
            for each in messages
            if each.conversational
            and (each.sender.ref == own or _is_said_from(each, person))
            and not stems.isdisjoint(stems_of(each.full_text))
        }
        if run.chat_id is not None and run.trigger.seq is not None:
            known.pop((run.chat_id, run.trigger.seq), None)  # the request itself
        best = list(known.values())[:MAX_FOUND]
        return sorted(best, key=lambda each: (each.created_at, each.chat_id, each.seq))


def question_to_forget(found: Sequence[Message], zone: ZoneInfo, *, by_sms: bool) -> str:
    """Return the question: `Delete these messages: 23 Nov: "My PIN is 4711"?`.

    By SMS, which stays on phones, it has no words: `Delete your words of 23 Nov (2 messages)?`.

    Args:
        found: The messages.
        zone: The time zone of the days.
        by_sms: Whether the question is sent by SMS.
    """
    days = [f"{each.created_at.astimezone(zone):%-d %b}" for each in found]
    if by_sms:
        counted = [f"{day}: {count}" for day, count in Counter(days).items()]
        return f"Delete messages about this ({', '.join(counted)})? {WHAT_GOES}"
    lines = [
        f'{day}: "{cut_text(on_one_line(each.full_text), EXCERPT)}"'
        for day, each in zip(days, found, strict=True)
    ]
    return "\n".join(["Delete these messages?", *lines, WHAT_GOES])


def _is_said_from(message: Message, person: tuple[str, ...]) -> bool:
    """Return whether an agent said it, shown no other person's words."""
    return message.sender.kind == "agent" and message.authors.only(person)
