"""Create, change and discard chats, and add and remove their members.

Messages are posted by `post_message`. Each write of the chat's item raises its `version`, on the
condition that the version is as it was read (optimistic lock). So a change cannot overlap with a
message or with another change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from skein.errors import ConditionFailed, Conflict, Unprocessable
from skein.models.api.chats import ChatChange, NewChat
from skein.models.chats.chat import MAX_AGENTS, MAX_MEMBERS, Chat
from skein.models.chats.idempotency import OpeningRecord
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.provenance import Authors
from skein.models.common.reason import Reason
from skein.models.common.storage import MAX_TRANSACTION_ITEMS, Missing, Put, Update, Write
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import Job, RecallJob
from skein.models.runs.run import Run
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.closed_memberships import closing, item_at
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.consolidation_schedule import consolidation_due
from skein.services.chats.invitations import end_invitation, invite
from skein.services.chats.joining import has_been_in, joined
from skein.services.common.optimistic import optimistic, revise
from skein.services.config.retention import retention_of
from skein.services.directory.display_names import NoSuchAgent, named_members, strangers_among
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.runs.chain import next_in_chain
from skein.services.runs.slots import (
    EnqueuedRun,
    canceled_queued_run,
    log_canceled,
    slots_unchanged,
)
from skein.services.runs.waits import release_wait
from skein.settings import Settings

DIRECT_MEMBERS = 2


class OpenedChat(NamedTuple):
    """A chat, and whether this call created it."""

    chat: Chat
    created: bool


class EarlierChat(NamedTuple):
    """The chat that a person created under a `client_id` before, if any.

    Attributes:
        chat: The chat; None if it does not exist yet.
        chat_id: The chat's id; None if no id is reserved. An id can be reserved before the chat
            exists: a large chat takes two transactions, and a worker can die between them.
    """

    chat: Chat | None
    chat_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAdministration:
    """Administration of chats and their members, on behalf of people in them."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    rate_limiter: RateLimiter
    settings: Settings

    def create(self, tenant: str, by: NamedMember, new: NewChat) -> OpenedChat:
        """Create a chat whose first member is `by`.

        People who share no chat with `by` are invited. The call is idempotent if `new` has a
        `client_id`. By default, a group is `open` and a direct chat is `private`.

        Raises:
            Unprocessable: An agent does not exist, there are too many members, or a direct chat
                does not have exactly two.
            NotFound: One of the people does not exist.
            RateLimited: `by` has created or changed too many chats, or one of the people has three
                open invitations.
            Conflict: One of the people is being erased, or `by` has left the chat that they created
                under this `client_id`.
        """
        refs, table = members_of(by, new), self.table
        fresh_id, own = f"chat_{self.ids.ulid()}", new.client_id
        admit = self.rate_limiter.change_admission(tenant, by.id)

        def attempt() -> OpenedChat:
            earlier = opened_before(table, tenant, by.ref, own) if own else EarlierChat(None, None)
            if earlier.chat is not None:
                return OpenedChat(earlier.chat.at(self.clock.now()), created=False)
            chat_id, record = earlier.chat_id or fresh_id, None
            if own and earlier.chat_id is None:
                record = OpeningRecord(tenant=tenant, user_id=by.id, client_id=own, chat_id=chat_id)
            now = self.clock.now()
            chat = open_chat(
                table,
                tenant,
                chat_id,
                by=by,
                new=new,
                refs=refs,
                record=record,
                admit=admit,
                settings=self.settings,
                now=now,
            )
            return OpenedChat(chat, created=True)

        return optimistic(self.clock, attempt)

    def change(self, tenant: str, chat_id: str, by: MemberRef, change: ChatChange) -> Chat:
        """Change a chat's title, respond policy or consolidation.

        The visibility of a chat never changes. Switching consolidation on covers earlier messages
        too. Without an own value, the chat inherits one (`services/config/resolution.py`).

        Raises:
            NotFound: The chat does not exist, or `by` is not a member.
            Conflict: The chat is discarded.
        """

        def attempt() -> Chat:
            snapshot = self._snapshot(tenant, chat_id, by)
            _check_open(snapshot.chat)
            if not change.given:
                return snapshot.chat.at(self.clock.now())
            given = change.given
            if "title" in given:
                authors = _authors_of(change.title, by)
                given |= {"named": True, "title_authors": authors}
                given |= {"made_title": None, "title_state": None}
            chat, write = revise(snapshot.chat, given)
            now = self.clock.now()
            due_change = consolidation_due(
                snapshot._replace(chat=chat), now=now, settings=self.settings
            )
            if due_change is None:
                self.table.write(write)
            else:
                due = replace(write, set={**write.set, **due_change.change})
                self.table.transact([due, due_change.write])
            return chat.at(now)

        return optimistic(self.clock, attempt)

    def discard(self, tenant: str, chat_id: str, by: MemberRef) -> None:
        """Discard a chat: cancel its queued runs and accept no more messages (idempotent).

        Members can still read the chat, but lists omit it. A run of another chat that waits for a
        reply here resumes without one. Its invitations end.

        Raises:
            NotFound: The chat does not exist, or `by` is not a member.
        """
        jobs, invited = optimistic(self.clock, lambda: self._discard_once(tenant, chat_id, by))
        self.dispatch.send(jobs)
        for user_id in invited:
            end_invitation(self.table, self.clock, tenant, chat_id, user_id)

    def _discard_once(
        self, tenant: str, chat_id: str, by: MemberRef
    ) -> tuple[list[Job], list[str]]:
        """Discard a chat; return the jobs to send, and the people whose invitations are to end."""
        snapshot = self._snapshot(tenant, chat_id, by)
        invited = [each.member.id for each in snapshot.chat.invited]
        if snapshot.chat.discarded_at is not None:
            return [], invited
        now = self.clock.now()
        _, write = revise(snapshot.chat, {"discarded_at": now}, also=NOT_DUE)
        writes: list[Write] = [write]
        jobs: list[Job] = [RecallJob(tenant=tenant, chat_id=chat_id)]  # to leave the index
        for agent in snapshot.agents:
            released, following = self._released(agent, now)
            writes.extend(released)
            jobs.extend(following)
            if agent.queued_run is not None:
                writes.append(
                    canceled_queued_run(
                        agent,
                        agent.queued_run,
                        Reason.CHAT_DISCARDED,
                        "the chat is discarded",
                        now,
                    )
                )
            if agent.queued_run is not None or agent.wait is not None:
                change = {"queued_run": None, "wait": None}
                writes.append(Update(agent.key, change, condition=slots_unchanged(agent)))
        self.table.transact(writes)
        for agent in snapshot.agents:
            if agent.queued_run is not None:
                log_canceled(agent.queued_run.run_id, Reason.CHAT_DISCARDED)
        return jobs, invited

    def _released(
        self, membership: Membership, now: datetime
    ) -> tuple[tuple[Write, ...], list[Job]]:
        """Resume the run that waits in a membership where nobody can reply any more.

        Returns:
            The writes for the caller's transaction, and the jobs to send after the commit.
        """
        if membership.wait is None:
            return (), []
        released = release_wait(self.table, membership, now=now, settings=self.settings)
        return released.writes, [released.job] if released.job else []

    def add_member(self, tenant: str, chat_id: str, by: NamedMember, member: MemberRef) -> Chat:
        """Add a member, for whom earlier messages count as seen (idempotent).

        A person who shares no chat with `by` is invited instead.

        Raises:
            NotFound: The chat, the agent or the person does not exist, or `by` is not a member.
            Conflict: The chat is discarded, direct or full, or the person is being erased.
            RateLimited: `by` has created or changed too many chats, or the person has three open
                invitations.
        """
        admit = self.rate_limiter.change_admission(tenant, by.id)
        return optimistic(self.clock, lambda: self._add_once(tenant, chat_id, by, member, admit))

    def _add_once(
        self,
        tenant: str,
        chat_id: str,
        by: NamedMember,
        member: MemberRef,
        admit: Callable[[], None],
    ) -> Chat:
        now = self.clock.now()
        snapshot = read_snapshot(self.table, tenant, chat_id, closed=True).for_member(by.ref)
        chat = snapshot.chat.at(now)
        _check_changeable(chat)
        if chat.has(member) or (member.kind == "user" and chat.invitation(member.id)):
            return chat
        _check_space(chat, member)
        (named,) = named_members(self.table, tenant, [member], caller=by, now=now)
        if strangers_among(self.table, tenant, by, [named]):
            settings = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
            hours = self.settings.overridden(settings).choice_hours
            new = invite(
                self.table,
                tenant,
                chat_id,
                _as_called(chat.roster, by),
                [named],
                hours=hours,
                now=now,
            )
            chat, write = revise(chat, {"invited": (*chat.invited, *new.invited)})
            writes = [write, *new.writes]
        else:
            chat, writes = joined(self.table, snapshot, named)
        admit()
        self.table.transact(writes)
        return chat

    def remove_member(self, tenant: str, chat_id: str, by: MemberRef, member: MemberRef) -> None:
        """Remove a member, and cancel an agent's queued run (idempotent).

        A member can also withdraw an invitation, and leave. Leaving does not count against the
        rate limit, so it is always possible.

        If the member is an agent, its run of another chat that waits for a reply here resumes
        without one. The agents that follow the canceled run in its chain still respond.

        Raises:
            NotFound: The chat does not exist, or `by` is not a member.
            Conflict: The chat is discarded or direct; an invitation to a direct chat can be
                withdrawn.
            RateLimited: `by` has created or changed too many chats.
        """
        admit = self.rate_limiter.change_admission(tenant, by.id)
        jobs = optimistic(self.clock, lambda: self._remove_once(tenant, chat_id, by, member, admit))
        self.dispatch.send(jobs)

    def _remove_once(
        self,
        tenant: str,
        chat_id: str,
        by: MemberRef,
        member: MemberRef,
        admit: Callable[[], None],
    ) -> list[Job]:
        snapshot = read_snapshot(self.table, tenant, chat_id)
        chat = snapshot.chat
        if by == member and not chat.has(by) and has_been_in(self.table, chat, by):
            return []
        snapshot.for_member(by)
        if not chat.has(member) and member.kind == "user" and chat.invitation(member.id):
            _check_open(chat)
            admit()
            end_invitation(self.table, self.clock, tenant, chat_id, member.id)
            return []
        _check_changeable(chat)
        if snapshot.member(member) is None:
            return []
        if member != by:
            admit()
        item = item_at(self.table, Membership.key_of(tenant, chat_id, member))
        membership = Membership.from_item(item)
        now = self.clock.now()
        roster = tuple(other for other in snapshot.chat.roster if other.ref != member)
        late = {ref: seq for ref, seq in snapshot.chat.joined_late.items() if ref != str(member)}
        _, write = revise(snapshot.chat, snapshot.chat.with_roster(roster) | {"joined_late": late})
        no_slots = dict.fromkeys(("queued_run", "resuming", "wait"))
        closed: dict[str, Any] = {"left_seq": snapshot.chat.last_seq} | no_slots
        released, jobs = self._released(membership, now)
        writes: list[Write] = [
            write,
            *closing(item, closed),
            *released,
        ]
        if membership.queued_run is not None:
            writes.append(
                canceled_queued_run(
                    membership,
                    membership.queued_run,
                    Reason.AGENT_LEFT,
                    "the agent has left the chat",
                    now,
                )
            )
            following = self._following(membership, now)
            if following is not None:
                writes.extend(following.writes)
                jobs.extend([following.job] if following.job else [])
        self.table.transact(writes)
        if membership.queued_run is not None:
            log_canceled(membership.queued_run.run_id, Reason.AGENT_LEFT)
        return jobs

    def _following(self, membership: Membership, now: datetime) -> EnqueuedRun | None:
        """Queue a run of the next agent in the chain of a canceled run.

        A person starts such a chain with "respond now, then these agents".
        """
        queued = membership.queued_run
        if queued is None or not queued.then:
            return None
        run = Run(
            tenant=membership.tenant,
            id=queued.run_id,
            agent_id=membership.member.id,
            chat_id=membership.chat_id,
            trigger=queued.trigger,
            then=queued.then,
            created_at=now,
        )
        return next_in_chain(self.table, run, ids=self.ids, now=now, settings=self.settings)

    def _snapshot(self, tenant: str, chat_id: str, by: MemberRef) -> ChatSnapshot:
        return read_snapshot(self.table, tenant, chat_id).for_member(by)


def members_of(by: NamedMember, new: NewChat) -> tuple[MemberRef, ...]:
    """Return the members of a new chat, its creator first.

    Raises:
        Unprocessable: There are too many members, or a direct chat does not have exactly two.
    """
    refs = tuple(dict.fromkeys([by.ref, *(member.ref for member in new.members)]))
    if new.kind == "direct" and len(refs) != DIRECT_MEMBERS:
        raise Unprocessable("a direct chat must have exactly two members, including the caller")
    if len(refs) > MAX_MEMBERS:
        raise Unprocessable(f"a chat may have at most {MAX_MEMBERS} members")
    if sum(member.kind == "agent" for member in refs) > MAX_AGENTS:
        raise Unprocessable(f"a chat may have at most {MAX_AGENTS} agents")
    return refs


def opened_before(table: Table, tenant: str, by: MemberRef, client_id: str) -> EarlierChat:
    """Find the chat that a person created under a `client_id`.

    Raises:
        Conflict: The person has left that chat since.
    """
    record = table.get(OpeningRecord.key_of(tenant, by.id, client_id))
    if record is None:
        return EarlierChat(None, None)
    chat_id = OpeningRecord.from_item(record).chat_id
    item = table.get(Chat.key_of(tenant, chat_id))
    if item is None:
        return EarlierChat(None, chat_id)
    chat = Chat.from_item(item)
    if not chat.has(by):
        raise Conflict("this client_id belongs to a chat that the caller has left")
    return EarlierChat(chat, chat.id)


def open_chat(
    table: Table,
    tenant: str,
    chat_id: str,
    *,
    by: NamedMember,
    new: NewChat,
    refs: Sequence[MemberRef],
    record: OpeningRecord | None,
    admit: Callable[[], None],
    settings: Settings,
    now: datetime,
) -> Chat:
    """Create a chat with its members, and invite people who share no chat with its creator.

    Args:
        chat_id: A unique id for the chat.
        by: The person who creates the chat.
        new: The request.
        refs: All members; see `members_of`.
        record: The idempotency record of the `client_id`; None if there is no `client_id`, or if
            the record exists already.
        admit: Charges the rate limit; called after all members were found.
        settings: The settings of the stack.

    Raises:
        Unprocessable: An agent does not exist.
        NotFound: One of the people does not exist.
        Conflict: One of the people is being erased.
        RateLimited: One of the people has three open invitations.
        ConditionFailed: Another call created the chat, its idempotency record or the creator's user
            record.
    """
    try:
        members = named_members(table, tenant, refs, caller=by, now=now)
    except NoSuchAgent as error:
        raise Unprocessable(error.message, details=error.details) from error
    strangers = strangers_among(table, tenant, by, members)
    roster = tuple(member for member in members if member not in strangers)
    tenant_settings = TenantSettings.from_optional(table.get(TenantSettings.key_of(tenant)))
    hours = settings.overridden(tenant_settings).choice_hours
    inviter = _as_called(roster, by)
    invitations = invite(table, tenant, chat_id, inviter, strangers, hours=hours, now=now)
    admit()
    group = new.kind == "group"
    chat = Chat(
        tenant=tenant,
        id=chat_id,
        title=new.title,
        title_authors=_authors_of(new.title, by.ref),
        kind=new.kind,
        visibility=new.visibility or ("open" if group else "private"),
        respond=new.respond,
        consolidate=new.consolidate,
        roster=roster,
        invited=invitations.invited,
        activity_hour=now.replace(minute=0, second=0, microsecond=0),
        retention=retention_of(tenant_settings),
        created_at=now,
    )
    memberships = [Membership(tenant=tenant, chat_id=chat_id, member=member) for member in roster]
    writes: list[Write] = [Put(record.key, record.to_item(), Missing())] if record else []
    writes.extend(
        Put(membership.key, membership.to_item(chat), Missing()) for membership in memberships
    )
    writes.extend(invitations.writes)
    writes.append(Put(chat.key, chat.to_item(), Missing()))
    # A full chat with its members and its record exceeds one transaction by two items. The first
    # transaction writes the record and the creator's membership, which are invisible until the
    # chat's item exists. Without a record to write, the membership may exist already, left by a
    # worker that died. The second transaction decides which call creates the chat.
    early = max(len(writes) - MAX_TRANSACTION_ITEMS, 0)
    if early:
        try:
            table.transact(writes[:early])
        except ConditionFailed:
            if record is not None:  # another call has just written the record
                raise
    table.transact(writes[early:])
    return chat


def _as_called(roster: Sequence[NamedMember], by: NamedMember) -> NamedMember:
    """Return the signed-in person with the name in the roster, not the one of the sign-in."""
    return next((member for member in roster if member.ref == by.ref), by)


def _authors_of(title: str | None, by: MemberRef) -> Authors:
    """Return the person whose words a title holds, by digest; nobody without a title."""
    return Authors.in_digests([by.id] if title is not None else [])


def _check_space(chat: Chat, joiner: MemberRef) -> None:
    if len(chat.roster) + len(chat.invited) >= MAX_MEMBERS:
        raise Conflict(f"the chat is full: it has {MAX_MEMBERS} members")
    agents = sum(member.kind == "agent" for member in chat.roster)
    if joiner.kind == "agent" and agents >= MAX_AGENTS:
        raise Conflict(f"the chat is full: it has {MAX_AGENTS} agents")


def _check_open(chat: Chat) -> None:
    if chat.discarded_at is not None:
        raise Conflict("the chat is discarded")


def _check_changeable(chat: Chat) -> None:
    _check_open(chat)
    if chat.kind == "direct":
        raise Conflict("the members of a direct chat cannot change")
