"""Upkeep: bring a chat's derived data up to date, separately from the posting of messages.

The chat's due pointer lists the chat as due for upkeep as long as any derived data is stale. Only
upkeep removes the due pointer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skein.errors import NotFound
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember, rfc3339
from skein.models.common.storage import Absent, Is, Item, Key, Update, all_of
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.jobs import SummaryJob, UpkeepJob
from skein.ports import Clock, Table
from skein.recall.sweep import RecallSweep
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.staleness import renewals
from skein.services.common.optimistic import optimistic
from skein.services.config.retention import retention_of
from skein.services.directory.display_names import as_called_now, record_keys
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.settings import Settings
from skein.summaries.other_chats import OtherChats

KEYS_PER_READ = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Worker that updates a chat's derived data and sends jobs for stale summaries.

    Derived data is the activity hour (which moves the chat up in its members' lists), the members'
    names, and a group's retention. Other workers renew the summaries.

    Two upkeeps do more: the first one of an hour, and the first one after an agent has joined. Both
    run the recall sweep, which finds messages that are missing in the index. Both also send jobs
    for stale agent summaries: prompts in this chat would show these summaries of other chats.
    """

    table: Table
    clock: Clock
    dispatch: Dispatch
    recall_sweep: RecallSweep
    other_chats: OtherChats
    settings: Settings

    def keep(self, job: UpkeepJob) -> None:
        """Update a chat's derived data (idempotent).

        If a stale summary may not be renewed yet, the chat stays due for upkeep.
        """
        try:
            stale = optimistic(self.clock, lambda: self._keep_once(job))
        except NotFound:
            return
        self.dispatch.send(stale)

    def _keep_once(self, job: UpkeepJob) -> list[SummaryJob]:
        snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        chat, now = snapshot.chat, self.clock.now()
        new_hour = chat.listed_hour != chat.activity_hour
        settings_key = TenantSettings.key_of(chat.tenant)
        # All chats of a tenant share this key, so it is read only if it is needed.
        settings = [settings_key] if chat.kind == "group" and new_hour else []
        found = self._read([*settings, *record_keys(chat)])
        for member in snapshot.members:
            self._bring_up(chat, member, found)
        if new_hour:
            self.recall_sweep.check(chat, snapshot.members)
            # The jobs are sent before the write, so that none is lost.
            self.dispatch.send_surely(self._wanted(snapshot))
        after = list(renewals(snapshot, self.settings))
        times: list[datetime] = [max(renewal.at, now + OUTBOX_GRACE) for renewal in after]
        roster = tuple(as_called_now(chat, member, found) for member in chat.roster)
        change: dict[str, Any] = {
            "listed_hour": rfc3339(chat.activity_hour),
            "version": chat.version + 1,
            **chat.relation(),
        }
        if settings:
            retention = retention_of(TenantSettings.from_optional(found.get(settings_key)))
            change["retention"] = retention.model_dump(exclude_none=True) if retention else None
        if roster != chat.roster:
            renamed = chat.with_roster(roster, self._left(chat))
            change |= {
                name: [member.model_dump(mode="json") for member in members]
                for name, members in renamed.items()
            }
        self.table.write(
            Update(
                chat.key,
                set=change | chat.upkeep(min(times, default=None)),
                condition=Is("version", chat.version),
            )
        )
        return [renewal.job for renewal in after if renewal.at <= now]

    def _wanted(self, snapshot: ChatSnapshot) -> list[SummaryJob]:
        """Return jobs for other chats' stale summaries, if prompts in this chat would show them."""
        chat, now = snapshot.chat, self.clock.now()
        return [
            SummaryJob(
                tenant=chat.tenant,
                chat_id=other.chat.id,
                agent_id=agent.member.id,
                wanted_in=chat.id,
            )
            for agent in snapshot.agents
            for other in self.other_chats.wanted_in(chat, agent.member.ref, now)
        ]

    def _left(self, chat: Chat) -> list[NamedMember]:
        """Read the members who have left, to tell them from a renamed member of the same name."""
        every = read_snapshot(self.table, chat.tenant, chat.id, closed=True)
        return [membership.member for membership in every.members if not membership.active]

    def _read(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """Read items in batches of 100. Only the largest chats need a second batch."""
        found: dict[Key, Item] = {}
        for start in range(0, len(keys), KEYS_PER_READ):
            found |= self.table.get_many(keys[start : start + KEYS_PER_READ])
        return found

    def _bring_up(self, chat: Chat, membership: Membership, found: Mapping[Key, Item]) -> None:
        """Write a member's activity hour and name if they are stale."""
        called = as_called_now(chat, membership.member, found)
        change: dict[str, Any] = {}
        if chat.listed_hour != chat.activity_hour:
            change |= membership.relation(chat, chat.activity_hour)
        if called != membership.member:
            change["member"] = called.model_dump(mode="json")
        if change:
            # If a member leaves meanwhile, the chat's version changes and the attempt is repeated.
            there = all_of(Absent("left_seq"), Is("chat_id", chat.id))
            as_read = Is("member", membership.member.model_dump(mode="json"))
            condition = all_of(there, as_read) if "member" in change else there
            self.table.write(Update(membership.key, set=change, condition=condition))
