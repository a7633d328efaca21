"""Agents of a tenant: create, change, list and delete them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skein.errors import NotFound
from skein.models.chats.chat import Chat
from skein.models.common.storage import (
    Absent,
    Check,
    Delete,
    Exists,
    Key,
    Missing,
    Put,
    Write,
    all_of,
)
from skein.models.directory.agent import (
    Agent,
    AgentVersion,
    DirectoryEntry,
    agents_relation,
    directory_partition,
    versions_partition,
)
from skein.models.directory.user import User
from skein.models.outbox.jobs import RecallJob
from skein.models.visibility.ownership import Reach, private_scope
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    Listing,
    list_partition,
    list_relation,
)
from skein.services.directory.display_names import Renaming
from skein.services.outbox.dispatch import Dispatch

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.models.api.directory import AgentChange, WholeAgent

Admit = Callable[[Agent, Agent], None]
"""Checks a change of an agent's fields before it is stored: the agent before and after it."""

MAX_VERSIONS = 50
NOT_LISTED: dict[str, None] = {"gsi1pk": None, "gsi1sk": None}


def _all(_before: Agent, _after: Agent) -> None:
    """Allow all changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """The service that creates, changes, lists and deletes agents."""

    table: Table
    clock: Clock
    ids: Ids
    renaming: Renaming
    dispatch: Dispatch

    def new_id(self) -> str:
        return f"agt_{self.ids.ulid()}"

    def create(self, tenant: str, new: "WholeAgent", *, agent_id: str | None = None) -> Agent:
        """Create an agent.

        Args:
            agent_id: The id from `new_id`, if items of the agent were stored before the agent.
        """
        agent = Agent(
            tenant=tenant,
            id=agent_id or self.new_id(),
            created_at=self.clock.now(),
            **new.configured,
        )
        self._commit(Put(agent.key, agent.to_item(), Missing()), _entry_changed(None, agent))
        return agent

    def get(self, tenant: str, agent_id: str) -> Agent:
        """Return an agent.

        Raises:
            NotFound: The agent does not exist or was deleted.
        """
        agent = self._find(tenant, agent_id)
        if agent.deleted_at is not None:
            raise NotFound("agent not found")
        return agent

    def reach(
        self, tenant: str, agent_id: str, *, user_id: str | None = None, chat_id: str | None = None
    ) -> Reach:
        """Return an operator's access to an agent's items of one scope (one group of readers).

        Without a person or a chat, the scope is `open`.

        Args:
            user_id: The person whose scope to use.
            chat_id: The private chat whose scope to use. A direct chat has the scope of its person.

        Raises:
            NotFound: The agent, the person or the chat does not exist.
        """
        keys: list[Key] = [Agent.key_of(tenant, agent_id)]
        if user_id is not None:
            keys.append(User.key_of(tenant, user_id))
        if chat_id is not None:
            keys.append(Chat.key_of(tenant, chat_id))
        found = self.table.get_many(keys)
        if keys[0] not in found or Agent.must_read(found, keys[0]).deleted_at is not None:
            raise NotFound("agent not found")
        if any(key not in found for key in keys):
            raise NotFound("chat not found" if chat_id else "user not found")
        scope = private_scope(user_id=user_id, chat_id=chat_id)
        if chat_id is not None:
            scope = Chat.must_read(found, keys[-1]).scope or scope
        return Reach(tenant=tenant, agent_id=agent_id, scopes=(scope,))

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Agent]:
        """List a page of a tenant's agents, oldest first, without deleted agents.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_relation(
            self.table,
            agents_relation(tenant),
            Agent,
            of="agents",
            limit=limit,
            cursor=cursor,
            keep=lambda agent: agent.deleted_at is None,
        )

    def change(
        self,
        tenant: str,
        agent_id: str,
        change: "AgentChange",
        *,
        by: str | None = None,
        admit: Admit = _all,
    ) -> Agent:
        """Change some of an agent's fields.

        A new name is copied into the rosters of the agent's chats. The transaction that changes the
        agent also stores the new version.

        Args:
            change: The fields to change.
            by: The operator who changes the agent.
            admit: Raises an error if the change is not allowed.

        Raises:
            NotFound: The agent does not exist or was deleted.
        """

        def attempt() -> Agent:
            agent = self.get(tenant, agent_id)
            given = change.values_for(agent)
            return self._revise(agent, given, by, admit) if given else agent

        return optimistic(self.clock, attempt)

    def replace(
        self,
        tenant: str,
        agent_id: str,
        new: "WholeAgent",
        *,
        by: str | None = None,
        admit: Admit = _all,
    ) -> Agent:
        """Replace all fields of an agent, and store them as a new version.

        If the agent already has all these values, nothing changes.

        Args:
            by: The operator who changes the agent.

        Raises:
            NotFound: The agent does not exist or was deleted.
        """

        def attempt() -> Agent:
            return self._configure(self.get(tenant, agent_id), new.configured, by, admit)

        return optimistic(self.clock, attempt)

    def versions(
        self, tenant: str, agent_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[AgentVersion]:
        """List a page of an agent's newest 50 versions, newest first.

        An agent that was never changed has only its current version.

        Raises:
            NotFound: The agent does not exist or was deleted.
            Invalid: The cursor does not belong to this list.
        """
        agent = self.get(tenant, agent_id)
        page = list_partition(
            self.table,
            versions_partition(tenant, agent_id),
            (AgentVersion.PREFIX,),
            AgentVersion.from_item,
            limit=limit,
            cursor=cursor,
        )
        if page.items or cursor is not None:
            return page
        return Listing((AgentVersion.of(agent),), None)

    def version(self, agent: Agent, number: int) -> AgentVersion:
        """Return a version of an agent.

        Raises:
            NotFound: The version does not exist.
        """
        key = AgentVersion.key_of(agent.tenant, agent.id, number)
        found = AgentVersion.read(self.table, key)
        if found is None and number != agent.version:
            raise NotFound("version not found")
        return found or AgentVersion.of(agent)

    def restore(
        self,
        tenant: str,
        agent_id: str,
        version: int,
        *,
        by: str | None = None,
        admit: Admit = _all,
    ) -> Agent:
        """Give an agent the configuration of an earlier version, as a new version.

        If the agent already has the values of that version, nothing changes.

        Raises:
            NotFound: The agent or the version does not exist.
        """

        def attempt() -> Agent:
            agent = self.get(tenant, agent_id)
            kept = self.version(agent, version)
            return self._configure(agent, kept.configured, by, admit, restored_from=version)

        return optimistic(self.clock, attempt)

    def _configure(
        self,
        agent: Agent,
        given: Mapping[str, Any],
        by: str | None,
        admit: Admit,
        *,
        restored_from: int | None = None,
    ) -> Agent:
        if all(getattr(agent, name) == value for name, value in given.items()):
            return agent
        return self._revise(agent, given, by, admit, restored_from=restored_from)

    def _revise(
        self,
        agent: Agent,
        given: Mapping[str, Any],
        by: str | None,
        admit: Admit,
        *,
        restored_from: int | None = None,
    ) -> Agent:
        signed = {**given, "changed_at": self.clock.now(), "changed_by": by}
        revised, write = revise(agent, signed)
        admit(agent, revised)
        if revised.name != agent.name:
            self.renaming.announce(agent.tenant, agent.as_member.ref)
        made = AgentVersion.of(revised, restored_from=restored_from)
        versions: list[Write] = [Put(made.key, made.attributes())]
        if agent.changed_at is None:  # the agent has no stored version yet
            before = AgentVersion.of(agent)
            versions.append(Put(before.key, before.attributes()))
        if revised.version > MAX_VERSIONS:
            oldest = revised.version - MAX_VERSIONS
            versions.append(Delete(AgentVersion.key_of(agent.tenant, agent.id, oldest)))
        self._commit(write, _entry_changed(agent, revised), *versions)
        return revised

    def delete(self, tenant: str, agent_id: str) -> None:
        """Delete an agent (idempotent); its runs are canceled when they are claimed.

        A deleted agent is no longer listed, but stays in the rosters of its chats. A job removes
        its passages from the recall index; a repeated deletion sends the job again.

        Raises:
            NotFound: The agent never existed.
            Transient: The agent is deleted, but the queue did not accept the job.
        """

        def attempt() -> None:
            agent = self._find(tenant, agent_id)
            if agent.deleted_at is None:
                change = {"deleted_at": self.clock.now(), "listed": False}
                revised, write = revise(agent, change, also=NOT_LISTED)
                self._commit(write, _entry_changed(agent, revised))

        optimistic(self.clock, attempt)
        self.dispatch.send_surely([RecallJob(tenant=tenant, agent_id=agent_id)])

    def directory(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[DirectoryEntry]:
        """List a page of the agents that have `listed` set, oldest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            directory_partition(tenant),
            (DirectoryEntry.PREFIX,),
            DirectoryEntry.from_item,
            limit=limit,
            cursor=cursor,
        )

    def _commit(self, write: Write, entry: Write | None, *versions: Write) -> None:
        more = [*([entry] if entry is not None else []), *versions]
        if more:
            self.table.transact([write, *more])
        else:
            self.table.write(write)

    def _find(self, tenant: str, agent_id: str) -> Agent:
        agent = Agent.read(self.table, Agent.key_of(tenant, agent_id))
        if agent is None:
            raise NotFound("agent not found")
        return agent


def _entry_changed(before: Agent | None, after: Agent) -> Write | None:
    """Return the write that stores or deletes an agent's directory entry; None if not needed."""
    if after.listed:
        entry = DirectoryEntry.of(after)
        return Put(entry.key, entry.attributes())
    if before is not None and before.listed:
        return Delete(DirectoryEntry.key_of(after.tenant, after.id))
    return None


def agent_is_there(tenant: str, agent_id: str) -> Check:
    """Return the check that fails unless the agent exists and is not deleted."""
    return Check(Agent.key_of(tenant, agent_id), all_of(Exists(), Absent("deleted_at")))
