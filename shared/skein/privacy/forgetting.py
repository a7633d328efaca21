"""Forget messages: find them, ask the person, delete them after a yes, and confirm.

The question is asked in the person's own private chat with the agent, so no one else learns what
was found, or whether anything was found. If the person makes the request in a chat that others may
read, the run only stores the request. A job searches and asks after the run has ended.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from skein.channels.text_cuts import cut_text
from skein.errors import (
    AlreadyAsked,
    ConditionFailed,
    Conflict,
    ExtraWriteFailed,
    Failed,
    NotFound,
    Rejected,
    Unprocessable,
)
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.common.base import MemberRef
from skein.models.common.characters import on_one_line
from skein.models.common.effects import effect_id
from skein.models.common.storage import Delete, Exists, Missing, Put, Query, Update, Write
from skein.models.outbox.jobs import ForgettingJob
from skein.models.runs.run import Run
from skein.models.visibility.audience import Audience
from skein.models.visibility.provenance import digest_of
from skein.ports import Clock, Table
from skein.privacy.message_deletion import MessageDeletion
from skein.privacy.models.forgetting import (
    ForgetRequest,
    Forgetting,
    ForgettingData,
    ForgottenMessage,
)
from skein.prompts import render
from skein.recall.message_search import MessageSearch
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.chats.views import WINDOW, ChatViews
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.proposals import person_to_ask
from skein.services.choices.wording import YES_NO
from skein.services.common.optimistic import transact_guarded
from skein.services.common.quoting import in_quotes
from skein.services.common.words import stems_of
from skein.services.delivery.enqueue import why_not_sent
from skein.services.outbox.dispatch import OUTBOX_GRACE
from skein.services.runs.claim import Claim
from skein.services.visibility.disclosure import check_post

MAX_FOUND = 10  # messages in one question
SEARCHED = 50  # messages that the search in the index returns, at most
NEWEST = 100  # messages of the active chat that may not be in the index yet
EXCERPT = 50  # characters of a message in the question
WHAT_GOES = (
    "Words of others stay. Yes deletes these messages and your request, and what I answered to "
    "them alone or made from them alone."
)
ANOTHER_TRY = timedelta(hours=1)  # until the next attempt if the person cannot be asked now
ASKED_WITHIN = timedelta(days=1)  # after the request; a later question would surprise the person

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgettings:
    """Service with which people make agents forget messages."""

    table: Table
    clock: Clock
    asking: Asking
    views: ChatViews
    search: MessageSearch
    deletion: MessageDeletion
    chats: Chats

    def ask(self, claim: Claim, query: str, zone: ZoneInfo, *, client_id: str) -> Message | None:
        """Ask the person which messages to forget, in a chat that only they read (idempotent).

        Args:
            claim: The claim of a run whose own chat is read only by the person.
            query: Words that occur in the messages.
            zone: The time zone of the days in the question.
            client_id: The idempotency key of the question.

        Returns:
            The question; None if no messages were found.

        Raises:
            Failed: No person's message led to the run.
            Unprocessable: The query has no words to search for.
            AlreadyAsked: A question about these messages is open.
            ReadersChanged: Someone joined the chat of the activation.
            ExtraWriteFailed: Another worker has taken the run over.
        """
        run, asked = claim.run, _checked(claim.run, query)
        home = read_snapshot(self.table, run.tenant, str(run.chat_id)).chat
        new = self._question(run, asked, home, query, zone, client_id=client_id)
        if new is None:
            return None

        def extra_writes(current: ChatSnapshot) -> Sequence[Write]:
            check_post(run, current.chat)
            return (claim.guard,)

        return self.asking.ask(new, extra_writes=extra_writes).message

    def ask_later(self, claim: Claim, query: str, zone: ZoneInfo, *, client_id: str) -> None:
        """Store a request to ask the person in their direct chat after the run (idempotent).

        The search happens after the run. The run can therefore not reveal what was found, or
        whether the person can be asked.

        Raises:
            Failed, Unprocessable: See `ask`.
            LostLease: Another worker has taken the run over.
        """
        run, now = claim.run, self.clock.now()
        request = ForgetRequest(
            tenant=run.tenant,
            user_id=_checked(run, query),
            id=f"fgt_{effect_id(run.tenant, client_id)}",
            run_id=run.id,
            query=query,
            zone=str(zone),
            created_at=now,
        )
        item = request.attributes() | request.due(now + OUTBOX_GRACE)
        with suppress(ConditionFailed):  # an earlier attempt has stored it
            transact_guarded(self.table, [Put(request.key, item, Missing())], claim.guard)

    def carry_out(self, job: ForgettingJob) -> None:
        """Do the work of a job, which has the id of a request or a forgetting (idempotent).

        For a request, search the messages and ask the person. For a forgetting, delete its messages
        and post one notice.
        """
        key = (job.tenant, job.user_id, job.forgetting_id)
        request = ForgetRequest.read(self.table, ForgetRequest.key_of(*key))
        if request is not None:
            self._answer(request)
        forgetting = Forgetting.read(self.table, Forgetting.key_of(*key))
        if forgetting is None:
            return
        for each in forgetting.messages:
            self.deletion.forget(job.tenant, job.user_id, each.chat_id, each.seq)
        self._tell(forgetting)

    def _tell(self, forgetting: Forgetting) -> None:
        """Post a notice in the chat of the question, and delete the forgetting.

        If the agent or the person has left that chat, the forgetting is deleted without a notice.
        """
        asked, done = forgetting.messages[-1], Delete(forgetting.key, Exists())
        question = Message.read(
            self.table, Message.key_of(forgetting.tenant, asked.chat_id, asked.seq)
        )
        with suppress(ConditionFailed, ExtraWriteFailed):  # another worker has posted the notice
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

    def _answer(self, request: ForgetRequest) -> None:
        """Search for the messages of a request, and ask the person if any are found.

        If the request's run is still running, or the person cannot be asked now, the job is
        repeated later. After `ASKED_WITHIN`, the request is deleted.
        """
        now, done = self.clock.now(), Delete(request.key, Exists())
        soon = now < request.created_at + ASKED_WITHIN
        run = Run.read(self.table, Run.key_of(request.tenant, request.run_id))

        def extra_writes(current: ChatSnapshot) -> Sequence[Write]:
            if not is_own(current.chat, request.user_id):
                raise Conflict("others can read the chat now")
            return (done,)

        with suppress(ConditionFailed, ExtraWriteFailed):  # another worker was faster
            if run is not None and run.status == "running" and soon:
                self._look_again(request, now + OUTBOX_GRACE)
                return
            try:
                new = self._requested(request, run) if run is not None else None
                if new is not None:
                    self.asking.ask(new, extra_writes=extra_writes)
                    return
            except Rejected as error:
                if soon and not isinstance(error, AlreadyAsked):
                    self._look_again(request, now + ANOTHER_TRY)
                    return
                extra = {"request_id": request.id, "why": type(error).__name__}
                logger.info("person not asked what to forget", extra=extra)
            self.table.write(done)

    def _requested(self, request: ForgetRequest, run: Run) -> NewChoice | None:
        """Return the question of a request; None if no messages or no chat to ask in are found."""
        person = request.user_id
        home = self._home(request.tenant, person, run.agent_id)
        if home is None:
            return None
        zone = ZoneInfo(request.zone)
        return self._question(run, person, home, request.query, zone, client_id=request.id)

    def _look_again(self, request: ForgetRequest, at: datetime) -> None:
        self.table.write(Update(request.key, set=request.due(at), condition=Exists()))

    def _question(
        self, run: Run, asked: str, home: Chat, query: str, zone: ZoneInfo, *, client_id: str
    ) -> NewChoice | None:
        """Search for the messages, and return the question for `home`; None if nothing is found."""
        found = self._found(run, asked, query)
        if not found:
            return None
        snapshot = read_snapshot(self.table, run.tenant, home.id)
        person = snapshot.member(MemberRef(kind="user", id=asked))
        by_sms = person is not None and why_not_sent(person) is None
        refs = [ForgottenMessage(chat_id=each.chat_id, seq=each.seq) for each in found]
        if run.chat_id is not None and run.trigger.seq is not None:
            refs.append(ForgottenMessage(chat_id=run.chat_id, seq=run.trigger.seq))
        return NewChoice(
            tenant=run.tenant,
            chat_id=home.id,
            agent=MemberRef(kind="agent", id=run.agent_id),
            client_id=client_id,
            addressee=asked,
            question=question_to_forget(found, zone, by_sms=by_sms),
            options=YES_NO,
            purpose="forgetting",
            **run.posting,
            data=ForgettingData(forgets=tuple(dict.fromkeys(refs))).attributes(),
        )

    def _home(self, tenant: str, asked: str, agent_id: str) -> Chat | None:
        """Return the newest direct chat that only the person and the agent read, if any."""
        agent = MemberRef(kind="agent", id=agent_id)
        listed = self.views.direct_chats(tenant, asked, limit=WINDOW).items
        chats = (
            own.chat for own in listed if own.chat.discarded_at is None and own.chat.has(agent)
        )
        return next((chat for chat in chats if is_own(chat, asked)), None)

    def _found(self, run: Run, asked: str, query: str) -> list[Message]:
        """Return the messages that match a query.

        They are messages of the person, and messages that the agent made only from the person's
        words. At most `MAX_FOUND` messages are returned, oldest first. The request itself is left
        out.
        """
        stems = frozenset(stems_of(query))
        agent = MemberRef(kind="agent", id=run.agent_id)
        entries = self.search.find(run.tenant, asked, query, limit=SEARCHED)
        messages = [each.message for each in entries if each.chat.has(agent)]
        if run.chat_id is not None:
            pk = chat_partition(run.tenant, run.chat_id)
            page = self.table.query(
                Query.under(pk, Message.PREFIX, limit=NEWEST, newest_first=True)
            )
            chat = read_snapshot(self.table, run.tenant, run.chat_id).chat
            messages += [chat.as_now(message) for message in Message.each_of(page.items)]
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


def is_own(chat: Chat, person_id: str) -> bool:
    """Return whether a chat is a private direct chat that only one person reads."""
    return chat.kind == "direct" and chat.readers == Audience(open=False, people=(person_id,))


def question_to_forget(found: Sequence[Message], zone: ZoneInfo, *, by_sms: bool) -> str:
    """Return the text of the question, with one line for each message.

    For example: `Delete these messages? 23 Nov: "My PIN is 4711"`. By SMS, the question does not
    quote the messages, because SMS stay on phones: `Delete messages about this (23 Nov: 2)?`.

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
        f"{day}: {in_quotes(cut_text(on_one_line(each.full_text), EXCERPT))}"
        for day, each in zip(days, found, strict=True)
    ]
    return "\n".join(["Delete these messages?", *lines, WHAT_GOES])


def _checked(run: Run, query: str) -> str:
    """Check a request, and return the id of the person who made it.

    Raises:
        Failed: No person's message led to the run.
        Unprocessable: The query has no words to search for.
    """
    asked = person_to_ask(run)
    if asked is None:
        raise Failed("only a person who asks for it in a message can have messages forgotten")
    if not stems_of(query):
        raise Unprocessable("query: enter words from the messages to forget")
    return asked


def _is_said_from(message: Message, person: tuple[str, ...]) -> bool:
    """Return whether an agent wrote a message only from this person's words and tools' results.

    Args:
        person: The person's digest.
    """
    return message.sender.kind == "agent" and message.authors.without_tools.only(person)
