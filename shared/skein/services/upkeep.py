"""Keeps what is derived from a chat up to date, away from the way of its messages."""

from skein.errors import NotFound
from skein.models.chat import Chat, Membership
from skein.models.due import NOT_DUE
from skein.models.jobs import UpkeepJob
from skein.models.storage import Absent, Is, Update, all_of
from skein.ports import Clock, Table
from skein.services.retrying import optimistic
from skein.services.roster import read_room


class Upkeep:
    """Moves a chat up in its members' lists, at most once an hour."""

    def __init__(self, *, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def keep(self, job: UpkeepJob) -> None:
        """Bring the chat's relations to its activity hour, then clear its due mark.

        Doing it twice does no harm.
        """
        try:
            optimistic(self._clock, lambda: self._keep_once(job))
        except NotFound:
            return

    def _keep_once(self, job: UpkeepJob) -> None:
        chat, members = read_room(self._table, job.tenant, job.chat_id)
        for member in members:
            if member.active:
                self._relate(chat, member)
        self._table.write(
            Update(
                chat.key,
                set=NOT_DUE | {"version": chat.version + 1},
                condition=Is("version", chat.version),
            )
        )

    def _relate(self, chat: Chat, member: Membership) -> None:
        relation = member.relation(chat, chat.activity_hour)
        if relation:
            # Members who leave meanwhile raise the chat's version, and all this is done again.
            condition = all_of(Absent("left_seq"), Is("chat_id", chat.id))
            self._table.write(Update(member.key, set=relation, condition=condition))
