"""Rebuild of the index of recall: send the jobs that index chats again.

Chats are found through their people, and open chats without people through their agents. A chat of
several people gets only one job.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.errors import Conflict, NotFound
from skein.models.chats.chat import Chat
from skein.models.chats.membership import member_relation, past_relation, related_chat
from skein.models.common.base import MemberRef
from skein.models.directory.agent import Agent, agents_relation
from skein.models.directory.user import users_relation
from skein.models.outbox.jobs import RecallJob
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_chat
from skein.services.common.pagination import pages_of_relation
from skein.services.outbox.dispatch import Dispatch

MARGIN = timedelta(seconds=30)  # time before the deadline that is kept for the chats of one person
AGENTS, PEOPLE, VISITORS = "agents", "people", "visitors"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRebuilds:
    """The service with which operators request that chats are indexed again.

    Nothing is deleted first: old passages are used until new ones replace them.
    """

    table: Table
    dispatch: Dispatch

    def request(
        self, tenant: str, *, chat_id: str | None = None, agent_id: str | None = None
    ) -> RecallJob:
        """Request a rebuild for a chat, an agent or, if neither is given, a tenant (idempotent).

        The rebuild for a deleted agent removes its passages from the index.

        Raises:
            NotFound: The chat or the agent never existed.
            Conflict: The chat is discarded; it is no longer in the index.
            Transient: The queue did not accept the job.
        """
        if chat_id is not None and read_chat(self.table, tenant, chat_id).discarded_at is not None:
            raise Conflict("the chat is discarded")
        if agent_id is not None and self.table.get(Agent.key_of(tenant, agent_id)) is None:
            raise NotFound("agent not found")
        job = RecallJob(tenant=tenant, chat_id=chat_id, agent_id=agent_id)
        self.dispatch.send_surely([job])
        return job


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRebuild:
    """Sends a job for each chat of a tenant or an agent."""

    table: Table
    clock: Clock
    dispatch: Dispatch

    def send_jobs(self, job: RecallJob, *, deadline: datetime) -> None:
        """Send the jobs of a rebuild until 30 seconds before the deadline (idempotent).

        Another job continues with the rest.

        Raises:
            Transient: The table or the queue failed. The job can be repeated.
        """
        for position, chats in self._found(job):
            self.dispatch.send_surely(
                [
                    RecallJob(tenant=job.tenant, chat_id=chat.id, agent_id=job.agent_id)
                    for chat in chats
                ]
            )
            if self.clock.now() + MARGIN >= deadline:
                self.dispatch.send_surely([job.model_copy(update={"after": position})])
                return

    def _found(self, job: RecallJob) -> Iterator[tuple[str, list[Chat]]]:
        """Yield the chats without people by agent, then those of each member and each visitor.

        Each list comes with a position from which another job can continue.
        """
        stage, _, after = (job.after or AGENTS).partition(" ")
        if stage == AGENTS:
            for agent_id in self._agents(job, after):
                yield f"{AGENTS} {agent_id}", list(self._without_people(job.tenant, agent_id))
            after = ""
        for name, visitors in ((PEOPLE, False), (VISITORS, True)):
            if stage == VISITORS and not visitors:
                continue
            for user_id in self._ids(users_relation(job.tenant, visitors=visitors), after):
                yield f"{name} {user_id}", list(self._of_person(job.tenant, user_id))
            after = ""

    def _agents(self, job: RecallJob, after: str) -> Iterator[str]:
        """Yield the ID of the job's agent, or of each agent of the tenant that still exists."""
        if job.agent_id is None:
            yield from self._ids(agents_relation(job.tenant), after)
        elif job.agent_id > after:
            yield job.agent_id

    def _ids(self, relation: str, after: str) -> Iterator[str]:
        for rows in pages_of_relation(self.table, relation, after=after or None):
            yield from (str(row["gsi1sk"]) for row in rows)

    def _without_people(self, tenant: str, agent_id: str) -> Iterator[Chat]:
        relation = member_relation(tenant, MemberRef(kind="agent", id=agent_id))
        for chat in self._chats(tenant, relation):
            if not chat.person_ids:
                yield chat

    def _of_person(self, tenant: str, user_id: str) -> Iterator[Chat]:
        """Yield the chats to index that are found through this person.

        A chat of several people is yielded only for the first person in its list of members, and so
        only once. Chats that the person has left are yielded if they have no people any more.
        """
        member = MemberRef(kind="user", id=user_id)
        for chat in self._chats(tenant, member_relation(tenant, member)):
            if chat.person_ids[:1] == (user_id,):
                yield chat
        for chat in self._chats(tenant, past_relation(tenant, user_id)):
            if not chat.person_ids:
                yield chat

    def _chats(self, tenant: str, relation: str) -> Iterator[Chat]:
        for rows in pages_of_relation(self.table, relation):
            keys = [Chat.key_of(tenant, related_chat(row)) for row in rows]
            found = self.table.get_many(list(dict.fromkeys(keys))) if keys else {}
            yield from Chat.read_each(found, keys)
