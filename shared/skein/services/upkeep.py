"""Keeps what is derived from a chat up to date, away from the way of its messages.

The chat is due for upkeep as long as anything of that is behind, and only this takes the mark away.
"""

from datetime import datetime, timedelta

from skein.errors import NotFound
from skein.models.base import rfc3339
from skein.models.chat import Chat, Membership
from skein.models.jobs import SummaryJob, UpkeepJob
from skein.models.overrides import TenantSettings
from skein.models.storage import Absent, Is, Update, all_of
from skein.ports import Clock, Table
from skein.services.dispatch import Dispatch
from skein.services.freshness import renewals
from skein.services.retention import retention_of
from skein.services.retrying import optimistic
from skein.services.roster import read_room
from skein.settings import Settings


class Upkeep:
    """Moves chats up in their members' lists, and has stale summaries renewed."""

    def __init__(
        self, *, table: Table, clock: Clock, dispatch: Dispatch, settings: Settings
    ) -> None:
        self._table = table
        self._clock = clock
        self._dispatch = dispatch
        self._settings = settings

    def keep(self, job: UpkeepJob) -> None:
        """See to all that is behind, and leave the chat due for what cannot be done yet.

        Doing it twice does no harm.
        """
        try:
            stale = optimistic(self._clock, lambda: self._keep_once(job))
        except NotFound:
            return
        self._dispatch.send(stale)

    def _keep_once(self, job: UpkeepJob) -> list[SummaryJob]:
        room = read_room(self._table, job.tenant, job.chat_id)
        chat, now = room.chat, self._clock.now()
        if chat.listed_hour != chat.activity_hour:
            for member in room.members:
                if member.active:
                    self._relate(chat, member)
        behind = list(renewals(chat, room.agents, self._settings))
        grace = timedelta(seconds=self._settings.outbox_grace_seconds)
        times: list[datetime] = [max(renewal.at, now + grace) for renewal in behind]
        said = TenantSettings.found_in(self._table.get(TenantSettings.key_of(chat.tenant)))
        retention = retention_of(said)
        change = {
            "listed_hour": rfc3339(chat.activity_hour),
            "retention": retention.said if retention else None,
            "version": chat.version + 1,
        }
        self._table.write(
            Update(
                chat.key,
                set=change | chat.upkeep(min(times, default=None)),
                condition=Is("version", chat.version),
            )
        )
        return [renewal.job for renewal in behind if renewal.at <= now]

    def _relate(self, chat: Chat, member: Membership) -> None:
        relation = member.relation(chat, chat.activity_hour)
        if relation:
            # Members who leave meanwhile raise the chat's version, and all this is done again.
            condition = all_of(Absent("left_seq"), Is("chat_id", chat.id))
            self._table.write(Update(member.key, set=relation, condition=condition))
