"""Find every chat of the person, then remove the person from each chat.

These are the first two stages of an erasure. The second stage first cancels runs that may have been
shown the person's words. One transaction per chat then removes the person from the roster, deletes
the person's memberships and the summaries, and raises the chat's epoch. After that, a worker that
read the chat earlier can no longer store content derived from it.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from skein.errors import Conflict, NotFound
from skein.models.chats.chat import Chat, LastMessage, Message
from skein.models.chats.membership import Membership, member_relation, past_relation, related_chat
from skein.models.common.person_names import untagged
from skein.models.common.reason import Reason
from skein.models.common.storage import Delete, Exists, Is, Put, Update, Write, all_of
from skein.models.runs.run import Run
from skein.ports import Clock, Table
from skein.privacy.erasure_rules import names_replaced, names_them
from skein.privacy.erasure_sweep import ERASED, Sweep
from skein.privacy.message_changes import FORGOTTEN
from skein.privacy.models.erasure import ErasedChat, Subject
from skein.services.chat_state.snapshot import ChatSnapshot, read_chat, read_snapshot
from skein.services.chats.consolidation_schedule import due_change
from skein.services.chats.invitations import end_invitation
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import pages_of_relation
from skein.services.directory.opted_out_numbers import OptedOutNumbers
from skein.services.runs.completion import RunCompletion
from skein.services.runs.slots import slots_unchanged

MAX_TITLE = 200  # characters of a chat's title
WHY = "a former member of this chat is being erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipErasure:
    """The stages `find` and `close` of an erasure."""

    table: Table
    clock: Clock
    completion: RunCompletion
    opted_out: OptedOutNumbers

    def find(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Store a note on every chat that the person is in or has left."""
        del after  # the lists are short, and recording a chat is idempotent
        for chat_id in self.chat_ids(sweep):
            self._record_chat(sweep, chat_id)
            yield chat_id

    def chat_ids(self, sweep: Sweep) -> Iterator[str]:
        """Yield the ids of chats that the person is in or has left, possibly with duplicates."""
        for ref in sweep.subject.refs:
            relations = (member_relation(sweep.tenant, ref), past_relation(sweep.tenant, ref.id))
            for relation in relations:
                for rows in pages_of_relation(self.table, relation, newest_first=True):
                    yield from map(related_chat, rows)

    def close(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Cancel runs in the person's chats, and remove the person from each chat."""
        for chat_id in sorted(sweep.chats):
            if after is None or chat_id > after:
                with suppress(NotFound):
                    self._stop(sweep, chat_id)
                    self._withdraw(sweep, chat_id)
                    optimistic(self.clock, partial(self._close_once, sweep, chat_id))
                yield chat_id

    # ------------------------------------------------------------------ finding

    def _record_chat(self, sweep: Sweep, chat_id: str) -> None:
        with suppress(NotFound):
            snapshot = read_snapshot(self.table, sweep.tenant, chat_id, closed=True)
            known = sweep.chats.get(chat_id)
            erased = self.note_on(sweep, snapshot, known)
            if erased is not None and erased != known:
                self.table.write(Put(erased.key, erased.to_item()))
                sweep.chats[chat_id] = erased
            learnt = learnt_from(sweep, snapshot)
            if learnt != sweep.subject:
                self.table.write(Put(learnt.key, learnt.to_item()))
                sweep.learn(learnt)

    def note_on(
        self, sweep: Sweep, snapshot: ChatSnapshot, known: ErasedChat | None
    ) -> ErasedChat | None:
        """Return the note on a chat: `known`, the note so far, updated from the current members.

        If the person is no longer a member, `known` is returned unchanged.
        """
        own = [membership for membership in snapshot.members if sweep.is_theirs(membership.member)]
        if not own:  # the index lags behind the table
            return known
        ids = {
            kind: {
                membership.member.id
                for membership in snapshot.members
                if membership.member.kind == kind
            }
            for kind in ("agent", "user")
        }
        joined = min((membership.joined_seq for membership in own), default=0)
        since = self._said_at(snapshot.chat, joined)
        if known is not None:
            since = min(since, known.since)
        return ErasedChat(
            tenant=sweep.tenant,
            erasure_id=sweep.erasure.id,
            chat_id=snapshot.chat.id,
            private=snapshot.chat.visibility == "private",
            agents=tuple(sorted(ids["agent"] | set(known.agents if known else ()))),
            others=tuple(sorted(ids["user"] - set(sweep.subject.ids))),
            since=since,
            first_seq=known.first_seq if known else None,
        )

    def _said_at(self, chat: Chat, seq: int) -> datetime:
        """Return the time of message `seq`; if it is missing, the chat's creation time."""
        message = (
            Message.read(self.table, Message.key_of(chat.tenant, chat.id, seq)) if seq else None
        )
        return message.created_at if message else chat.created_at

    # ------------------------------------------------------------------ closing

    def _stop(self, sweep: Sweep, chat_id: str) -> None:
        """Cancel the runs in a chat that may have been shown the person's words.

        Queued runs are canceled if the chat is private or the person triggered them. Canceling a
        run can start the next queued run, so the chat is read again until no such run is left.
        """
        stopped: set[str] = set()
        while True:
            snapshot = read_snapshot(self.table, sweep.tenant, chat_id)
            live = [
                run
                for membership in snapshot.agents
                for run in self._live(sweep, snapshot.chat, membership)
                if run.id not in stopped
            ]
            if not live:
                return
            for run in live:
                stopped.add(run.id)
                sweep.unsaved.stopped += 1
                sweep.unsaved.counts["runs_canceled"] += 1
                with suppress(Conflict):
                    self.completion.cancel(run, reason=Reason.PERSON_ERASED, error=WHY)

    def _withdraw(self, sweep: Sweep, chat_id: str) -> None:
        """End the invitations that the person sent; these contain the person's name."""
        for invited in read_chat(self.table, sweep.tenant, chat_id).invited:
            if sweep.is_theirs(invited.by):
                user_id = invited.member.id
                end_invitation(self.table, self.clock, sweep.tenant, chat_id, user_id)
                sweep.unsaved.counts["invitations"] += 1

    def _live(self, sweep: Sweep, chat: Chat, membership: Membership) -> Iterator[Run]:
        queued = membership.queued_run
        ids = [
            membership.running_run,
            *membership.resuming,
            membership.wait.run_id if membership.wait else None,
        ]
        theirs = queued is not None and sweep.is_theirs(queued.trigger.by)
        if queued is not None and (chat.visibility == "private" or theirs):
            ids.append(queued.run_id)
        for run_id in dict.fromkeys(filter(None, ids)):
            run = Run.read(self.table, Run.key_of(sweep.tenant, run_id))
            if run is not None and sweep.to_stop(run):
                yield run

    def _close_once(self, sweep: Sweep, chat_id: str) -> None:
        snapshot = read_snapshot(self.table, sweep.tenant, chat_id, closed=True)
        own = [membership for membership in snapshot.members if sweep.is_theirs(membership.member)]
        if not own and sweep.erasure.swept_at is not None and not self._derived(sweep, snapshot):
            return
        now = self.clock.now()
        chat, write = revise(
            snapshot.chat,
            self._closed(sweep, snapshot.chat, now),
            also=self._bookkeeping(sweep, snapshot, now),
        )
        writes: list[Write] = [write, *(Delete(membership.key) for membership in own)]
        for membership in own:
            remembered = self.opted_out.remembered(membership, sweep.subject.addresses)
            writes.extend(remembered)
        writes.extend(_forgotten(membership) for membership in snapshot.agents)
        if chat.discarded_at is not None and snapshot.chat.consolidation_at is not None:
            writes.append(due_change(chat, None).write)
        self.table.transact(writes)
        for membership in snapshot.members:
            if (
                membership.member.kind == "agent"
                and not membership.active
                and membership.summary is not None
            ):
                self.table.write(Update(membership.key, set=FORGOTTEN, condition=Exists()))
        sweep.unsaved.stopped += len(own)
        sweep.unsaved.counts["memberships"] += len(own)
        summaries = [
            snapshot.chat.summary,
            snapshot.chat.pinned,
            *(p.summary for p in snapshot.members),
        ]
        sweep.unsaved.counts["summaries"] += sum(summary is not None for summary in summaries)

    def _derived(self, sweep: Sweep, snapshot: ChatSnapshot) -> bool:
        """Return whether the chat has a summary from before the end of the first sweep."""
        summaries = [
            snapshot.chat.summary,
            *(membership.summary for membership in snapshot.members),
        ]
        return any(summary is not None and sweep.suspect(summary.at) for summary in summaries)

    def _closed(self, sweep: Sweep, chat: Chat, now: datetime) -> dict[str, Any]:
        """Return the attributes that the chat gets when the person is removed."""
        own = {str(ref) for ref in sweep.subject.refs}
        roster = tuple(member for member in chat.roster if not sweep.is_theirs(member))
        formerly = {
            old: new
            for old, new in chat.formerly.items()
            if not {old, new} & set(sweep.subject.ids)
        }
        alone = _alone(chat, roster)
        sharing = chat.sharing
        theirs = sharing is not None and sharing.person_id in sweep.subject.ids
        names = chat.with_roster(roster)["former_names"]
        return {
            "roster": roster,
            "owners": chat.owners_in(roster),
            "former_names": tuple(name for name in names if not sweep.is_theirs(name)),
            "joined_late": {ref: seq for ref, seq in chat.joined_late.items() if ref not in own},
            "formerly": formerly,
            "sharing": None if theirs else sharing,
            "title": None if alone else title_after(sweep, chat),
            "documents": () if alone else chat.documents,
            **chat.without_made_title(),
            "summary": None,
            "summary_state": None,
            "pinned": None,
            "last_message": _shown_last(sweep, chat),
            "epoch": chat.epoch + 1,
            "discarded_at": chat.discarded_at or (now if alone else None),
        }

    def _bookkeeping(self, sweep: Sweep, snapshot: ChatSnapshot, now: datetime) -> dict[str, Any]:
        """Return the attributes that schedule the chat's upkeep, which makes the summaries again.

        Upkeep and consolidation are switched off if the chat is discarded, or if it is private or
        direct and has no person left.
        """
        roster = tuple(member for member in snapshot.chat.roster if not sweep.is_theirs(member))
        if snapshot.chat.discarded_at is not None or _alone(snapshot.chat, roster):
            return snapshot.chat.upkeep(None) | {"consolidation_at": None}
        return snapshot.chat.upkeep(now)


def learnt_from(sweep: Sweep, snapshot: ChatSnapshot) -> Subject:
    """Return the erasure's subject, extended by the person's names and addresses in a chat."""
    subject = sweep.subject
    own = [membership for membership in snapshot.members if sweep.is_theirs(membership.member)]
    called = [membership.member.name for membership in own]
    names = dict.fromkeys([*subject.names, *map(untagged, called), *called])
    written = (each.route.person for each in own if each.route)
    addresses = dict.fromkeys([*subject.addresses, *written])
    return subject.model_copy(update={"names": tuple(names), "addresses": tuple(addresses)})


def _alone(chat: Chat, people: tuple[Any, ...]) -> bool:
    """Return whether a chat is private or direct and `people` includes no person."""
    closed = chat.visibility == "private" or chat.kind == "direct"
    return closed and not any(member.kind == "user" for member in people)


def title_after(sweep: Sweep, chat: Chat) -> str | None:
    """Return a chat's title after the erasure; None if the title is removed.

    A title made only from the person's words is removed. The operator's decision on named texts
    applies to any other title with the person's full name.
    """
    if chat.title is None or chat.title_authors.only(sweep.digests):
        return None
    if names_them(sweep, chat.title):
        if sweep.erasure.named_texts == "remove":
            return None
        if sweep.erasure.named_texts == "replace":
            return names_replaced(sweep, chat.title)[:MAX_TITLE]
    return chat.title


def _shown_last(sweep: Sweep, chat: Chat) -> LastMessage | None:
    last = chat.last_message
    if last is None:
        return None
    if sweep.is_theirs(last.sender):
        return last.model_copy(update={"text": "", "sender": ERASED})
    return last


def _forgotten(membership: Membership) -> Update:
    """Return the write that deletes an agent's summary of the chat.

    The write raises the membership's version, so a worker that is writing a new summary can't store
    it.
    """
    as_read = all_of(slots_unchanged(membership), Is("chat_id", membership.chat_id))
    return Update(membership.key, set=FORGOTTEN, condition=as_read)
