"""Create, change and discard chats, and add and remove their members.

Messages are posted by `post_message`. Each write of a chat's item raises the chat's `version`, and
fails if the version has changed since the chat was read (optimistic lock). So a change never
overlaps with a message or another change.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.api.chats import ChatChange, NewChat
from skein.models.chats.chat import MAX_AGENTS, MAX_MEMBERS, Chat, MemberRole
from skein.models.chats.idempotency import OpeningRecord
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.reason import Reason
from skein.models.common.storage import Update, Write
from skein.models.config.overrides import TenantSettings
from skein.models.directory.user import User
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import InvitationJob, Job, RecallJob
from skein.models.runs.run import Run
from skein.models.visibility.sharing_rules import sharing_changed
from skein.ports import Clock, Ids, Table
from skein.services.chat_state.closed_memberships import closing, item_at
from skein.services.chat_state.snapshot import ChatSnapshot, read_chat, read_snapshot
from skein.services.chats.consolidation_schedule import consolidation_due
from skein.services.chats.invitations import end_invitation, invite
from skein.services.chats.joining import has_been_in, has_left, joined
from skein.services.chats.opening import (
    EarlierChat,
    OpenedChat,
    as_called,
    authors_of,
    members_of,
    open_chat,
    opened_before,
)
from skein.services.chats.ownership import Actor
from skein.services.common.optimistic import optimistic, revise
from skein.services.directory.display_names import named_members, strangers_among
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAdministration:
    """The service that creates, changes and discards chats, and changes their members."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    rate_limiter: RateLimiter
    settings: Settings

    def create(
        self, tenant: str, by: NamedMember, new: NewChat, *, operator: bool = False
    ) -> OpenedChat:
        """Create a chat whose first member and owner is `by`.

        People who share no chat with `by` are invited. The call is idempotent if `new` has a
        `client_id`. By default, a group is `open` and a direct chat is `private`.

        Args:
            by: The signed-in person.
            operator: Whether the person is also an operator, who may add every agent.

        Raises:
            Unprocessable: An agent does not exist, there are too many members, or a direct chat
                does not have exactly two members.
            NotFound: One of the people does not exist.
            Forbidden: Only operators may add one of the agents.
            RateLimited: `by` has created or changed too many chats, or one of the people already
                has three open invitations.
            Conflict: One of the people is being erased, or `by` has left the chat that `by` created
                with this `client_id`.
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
                operator=operator,
                record=record,
                admit=admit,
                settings=self.settings,
                now=now,
            )
            return OpenedChat(chat, created=True)

        opened = optimistic(self.clock, attempt)
        self._send_invitations(opened.chat)
        return opened

    def created(self, tenant: str, by: NamedMember, chat_id: str) -> OpenedChat:
        """Return the chat that an earlier call of `create` has created, for a repeated request.

        Raises:
            NotFound: The chat does not exist, or `by` is no longer a member.
        """
        snapshot = read_snapshot(self.table, tenant, chat_id).for_member(by.ref)
        self._send_invitations(snapshot.chat)
        return OpenedChat(snapshot.chat.at(self.clock.now()), created=False)

    def change(
        self,
        tenant: str,
        chat_id: str,
        by: MemberRef,
        change: ChatChange,
        *,
        operator: bool = False,
    ) -> Chat:
        """Change a chat's title, respond policy or consolidation.

        The visibility of a chat cannot be changed. Switching consolidation on makes earlier
        messages due for consolidation too. A chat inherits each value that it does not set
        (`services/config/resolution.py`).

        Args:
            by: An owner of the chat.
            change: The fields to change.
            operator: Whether `by` may act as an operator, in a chat without an owner.

        Returns:
            The chat, without its title and summary if `by` is an operator who is not a member.

        Raises:
            NotFound: The chat does not exist, or `by` is not a member.
            Forbidden: `by` does not own the chat.
            Conflict: The chat is discarded.
        """
        actor = Actor(by, operator)

        def attempt() -> Chat:
            snapshot = self._owned(tenant, chat_id, actor)
            _check_open(snapshot.chat)
            if not change.given:
                return actor.as_shown(snapshot.chat.at(self.clock.now()))
            given = change.given
            if "title" in given:
                authors = authors_of(change.title, by)
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
            return actor.as_shown(chat.at(now))

        return optimistic(self.clock, attempt)

    def set_role(
        self,
        tenant: str,
        chat_id: str,
        by: MemberRef,
        member: MemberRef,
        role: MemberRole,
        *,
        operator: bool = False,
    ) -> Chat:
        """Make a person an owner of a group, or an ordinary member again (idempotent).

        A chat may have many owners, or none.

        Args:
            by: An owner of the chat.
            member: The person whose role changes.
            operator: Whether `by` may act as an operator, in a chat without an owner.

        Raises:
            NotFound: The chat does not exist, or `by` or `member` is not a member.
            Forbidden: `by` does not own the chat.
            Unprocessable: The member is an agent.
            Conflict: The chat is discarded or direct.
            RateLimited: `by` has created or changed too many chats.
        """
        admit = self.rate_limiter.change_admission(tenant, by.id)

        def attempt() -> Chat:
            chat = read_chat(self.table, tenant, chat_id)
            Actor(by, operator).check_owns(chat)
            if member.kind == "agent":
                raise Unprocessable("only people can own chats")
            if not chat.has(member):
                raise NotFound("member not found")
            _check_changeable(chat)
            if chat.role_of(member) == role:
                return chat
            others = tuple(owner for owner in chat.owners if owner != member.id)
            owners = (*others, member.id) if role == "owner" else others
            changed, write = revise(chat, {"owners": owners})
            admit()
            self.table.write(write)
            return changed

        return optimistic(self.clock, attempt)

    def discard(self, tenant: str, chat_id: str, by: MemberRef, *, operator: bool = False) -> None:
        """Discard a chat: cancel its queued runs and accept no more messages (idempotent).

        Members can still read the chat, but lists omit it. If a run of another chat waits for a
        reply in this chat, that run resumes without the reply. The chat's invitations end.

        Args:
            by: An owner of the chat.
            operator: Whether `by` may act as an operator, in a chat without an owner.

        Raises:
            NotFound: The chat does not exist, or `by` is not a member.
            Forbidden: `by` does not own the chat.
        """
        actor = Actor(by, operator)
        jobs, invited = optimistic(self.clock, lambda: self._discard_once(tenant, chat_id, actor))
        self.dispatch.send(jobs)
        for user_id in invited:
            end_invitation(self.table, self.clock, tenant, chat_id, user_id)

    def _discard_once(self, tenant: str, chat_id: str, actor: Actor) -> tuple[list[Job], list[str]]:
        """Discard a chat; return the jobs to send, and the people whose invitations must end."""
        snapshot = self._owned(tenant, chat_id, actor)
        invited = [each.member.id for each in snapshot.chat.invited]
        if snapshot.chat.discarded_at is not None:
            return [], invited
        now = self.clock.now()
        _, write = revise(snapshot.chat, {"discarded_at": now}, also=NOT_DUE)
        writes: list[Write] = [write]
        told = snapshot.chat.sharing
        if told is not None and self.table.get(User.key_of(tenant, told.person_id)) is not None:
            writes.append(sharing_changed(tenant, told.person_id))
        jobs: list[Job] = [RecallJob(tenant=tenant, chat_id=chat_id)]  # updates the index
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
        """Let the agent's run that waits for a reply from this chat go on without the reply.

        Returns:
            The writes for the caller's transaction, and the jobs to send after the commit. Both are
            empty if no run waits.
        """
        if membership.wait is None:
            return (), []
        released = release_wait(self.table, membership, now=now, settings=self.settings)
        return released.writes, [released.job] if released.job else []

    def add_member(
        self,
        tenant: str,
        chat_id: str,
        by: NamedMember,
        member: MemberRef,
        *,
        operator: bool = False,
    ) -> Chat:
        """Add a member, for whom earlier messages count as seen (idempotent).

        A person is invited instead of added if they share no chat with `by`, have left this chat or
        were removed from it.

        Args:
            by: The member who adds the person or agent.
            member: The person or agent to add.
            operator: Whether `by` is also an operator, who may add every agent.

        Raises:
            Forbidden: Only operators may add the agent.
            NotFound: The chat, the agent or the person does not exist, or `by` is not a member.
            Conflict: The chat is discarded, direct or full, or the person is being erased.
            RateLimited: `by` has created or changed too many chats, or the person already has three
                open invitations.
        """
        admit = self.rate_limiter.change_admission(tenant, by.id)
        chat = optimistic(
            self.clock,
            lambda: self._add_once(tenant, chat_id, by, member, admit, operator=operator),
        )
        self._send_invitations(chat, member)
        return chat

    def _send_invitations(self, chat: Chat, member: MemberRef | None = None) -> None:
        """Send the jobs that invite people by SMS (idempotent).

        Args:
            chat: The chat, which lists the invited people.
            member: The only person to invite; None for everyone whom the chat lists.
        """
        invited = (each.member for each in chat.invited if member in {None, each.member.ref})
        self.dispatch.send(
            [InvitationJob(tenant=chat.tenant, user_id=person.id) for person in invited]
        )

    def _add_once(
        self,
        tenant: str,
        chat_id: str,
        by: NamedMember,
        member: MemberRef,
        admit: Callable[[], None],
        *,
        operator: bool,
    ) -> Chat:
        now = self.clock.now()
        snapshot = read_snapshot(self.table, tenant, chat_id, closed=True).for_member(by.ref)
        chat = snapshot.chat.at(now)
        _check_changeable(chat)
        if chat.has(member) or (member.kind == "user" and chat.invitation(member.id)):
            return chat
        _check_space(chat, member)
        (named,) = named_members(
            self.table, tenant, [member], caller=by, operator=operator, now=now
        )
        if has_left(snapshot, named) or strangers_among(self.table, tenant, by, [named]):
            settings = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
            hours = self.settings.overridden(settings).choice_hours
            new = invite(
                self.table,
                tenant,
                chat_id,
                as_called(chat.roster, by),
                [named],
                hours=hours,
                now=now,
            )
            chat, write = revise(chat, {"invited": (*chat.invited, *new.invited)})
            writes = [write, *new.writes]
        else:
            chat, writes = joined(self.table, snapshot, named, now)
        admit()
        self.table.transact(writes)
        return chat

    def remove_member(
        self,
        tenant: str,
        chat_id: str,
        by: MemberRef,
        member: MemberRef,
        *,
        operator: bool = False,
    ) -> None:
        """Remove a member, and cancel an agent's queued run (idempotent).

        Owners can remove others. Every member can leave, and can withdraw their own invitations.
        Leaving does not count against the rate limit, so it is always possible. When the last owner
        leaves, the chat has no owner.

        If the removed member is an agent, a run of this agent in another chat may be waiting for a
        reply in this chat. That run resumes without the reply. If a person asked several agents to
        respond in turn, the agents after the removed agent still respond.

        Args:
            by: The person who removes the member.
            member: The member, or an invited person.
            operator: Whether `by` may act as an operator, in a chat without an owner.

        Raises:
            NotFound: The chat does not exist, or `by` is not a member.
            Forbidden: `by` does not own the chat, and `member` is someone else whom `by` has not
                invited.
            Conflict: The chat is discarded, or `member` is a member of a direct chat.
            RateLimited: `by` has created or changed too many chats.
        """
        admit = self.rate_limiter.change_admission(tenant, by.id)
        actor = Actor(by, operator)
        jobs = optimistic(
            self.clock, lambda: self._remove_once(tenant, chat_id, actor, member, admit)
        )
        self.dispatch.send(jobs)

    def _remove_once(
        self,
        tenant: str,
        chat_id: str,
        actor: Actor,
        member: MemberRef,
        admit: Callable[[], None],
    ) -> list[Job]:
        snapshot = read_snapshot(self.table, tenant, chat_id)
        chat, leaves = snapshot.chat, member == actor.ref
        if leaves and not chat.has(member) and has_been_in(self.table, chat, member):
            return []
        actor.check_admitted(chat)
        invited = member.kind == "user" and not chat.has(member)
        invitation = chat.invitation(member.id) if invited else None
        withdraws = invitation is not None and invitation.by.ref == actor.ref
        if not leaves and not withdraws:
            actor.check_owns(chat)
        if invitation is not None:
            _check_open(chat)
            admit()
            end_invitation(self.table, self.clock, tenant, chat_id, member.id)
            return []
        _check_changeable(chat)
        if snapshot.member(member) is None:
            return []
        if not leaves:
            admit()
        item = item_at(self.table, Membership.key_of(tenant, chat_id, member))
        membership = Membership.from_item(item)
        now = self.clock.now()
        roster = tuple(other for other in snapshot.chat.roster if other.ref != member)
        late = {ref: seq for ref, seq in snapshot.chat.joined_late.items() if ref != str(member)}
        left = {"joined_late": late, "owners": chat.owners_in(roster)}
        _, write = revise(chat, chat.with_roster(roster) | left)
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
        """If the removed agent's canceled run was part of a chain, queue a run of the next agent.

        A chain starts when a person asks several agents to respond in turn.
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

    def _owned(self, tenant: str, chat_id: str, actor: Actor) -> ChatSnapshot:
        snapshot = read_snapshot(self.table, tenant, chat_id)
        actor.check_owns(snapshot.chat)
        return snapshot


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
