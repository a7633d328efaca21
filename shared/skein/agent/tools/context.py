"""Everything that a tool may use: its run, what the agent was shown, and the services it may call.

A tool's first parameter is a `ToolContext`. The functions below the classes say where an item that
a tool makes belongs, and which of the agent's items it may change.

Content may change a thing only if everybody who may be shown the thing was there for the content
(`models/audience.py: may_change`). The reach that is made here carries the content's audience, and
every service refuses by it (`services/common/guarded.py: check_change`). So an agent's tools do not
change open things in private, and do not narrow whom a thing is for.
"""

from dataclasses import dataclass, field

from skein.agent.reading.reader import Reading
from skein.errors import Correctable, Failed
from skein.models.audience import Audience
from skein.models.document import DocumentReach, Folder
from skein.models.ownership import Owner, Reach, effect_id, scopes_at
from skein.models.run import Run, SentMessage
from skein.ports import Clock
from skein.services.chats.own_chats import OwnChats
from skein.services.chats.post_message import Chats
from skein.services.directory.users import Profiles
from skein.services.memory.memories import Memories
from skein.services.memory.search import MemorySearch
from skein.services.planning.goals import Goals
from skein.services.planning.plans import Plans
from skein.services.replies.ask_and_wait import Asking
from skein.services.runs.claim import Claim
from skein.services.runs.completion import RunCompletion
from skein.services.runs.queries import OwnRuns
from skein.services.workspace.document_edits import Author
from skein.services.workspace.documents import Documents
from skein.services.workspace.skills import Skills
from skein.services.workspace.threads import Threads


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What lies within an agent's reach while it works."""

    clock: Clock
    chats: Chats
    own_chats: OwnChats
    asking: Asking
    completion: RunCompletion
    own_runs: OwnRuns
    goals: Goals
    plans: Plans
    memories: Memories
    memory_search: MemorySearch
    profiles: Profiles
    documents: Documents
    skills: Skills
    threads: Threads


@dataclass(slots=True)
class Work:
    """One activation while it goes on.

    Attributes:
        claim: As last written, also for whoever must clean up after a failure half-way.
        sent: What the step that is being carried out has sent so far.
        astray: The chat that the agent wanted to enter in this step is not the active one.
        permit: It counts against the agent's limit of runs at work.
        ended: The agent ended its run.
        over: The run is in other hands, since it waits or has ended; nothing more may be written.
    """

    claim: Claim
    sent: list[SentMessage] = field(default_factory=list)
    astray: bool = False
    permit: bool = False
    ended: bool = False
    over: bool = False

    @property
    def run(self) -> Run:
        """The run, as last written."""
        return self.claim.run

    def begin_again(self) -> None:
        """Forget what belonged to an activation that was dropped."""
        self.sent.clear()
        self.astray = self.ended = False

    def hold(self, audience: Audience, *, by_others: bool = False) -> None:
        """Note that a tool has shown content for which only `audience` was present.

        Args:
            audience: Who was present for all of that content.
            by_others: Someone wrote some of it who is not in that chat any more.
        """
        if self.run.held is not None:
            held = self.run.held.with_shown(audience, by_others=by_others)
            self.claim = self.claim.with_run(held=held)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One call of a tool, with everything that the tool may use.

    Attributes:
        effect: Names this very call; the same when a worker that died is replaced.
        reading: What the prompt was made from.
        may_wait: Nothing that the step still has to do would be lost if the run waited now.
    """

    effect: str
    work: Work
    reading: Reading
    tool_services: ToolServices
    may_wait: bool = True

    def target(self, chat_id: str | None) -> str:
        """The chat that is meant: the one named, else the active one.

        Raises:
            Correctable: No chat is active, or the agent could not enter the one that it wanted.
        """
        if chat_id is not None:
            return chat_id
        if self.work.astray:
            raise Correctable("you could not enter that chat, so nothing is done in the one before")
        active = self.work.run.active_chat_id
        if active is None:
            raise Correctable("no chat is active: name a chat_id, or enter a chat first")
        return active


def content_of(call: ToolContext) -> Audience:
    """Who was there for everything that this activation was shown.

    Every section and tool result may be shown to all who are there, so those who were there for
    the window of messages were there for everything else. Without a chat they are those whom the
    trigger is for.
    """
    return call.reading.audience


def own_scope(call: ToolContext) -> str | None:
    """Which of the agent's partitions holds what is made now.

    Raises:
        Failed: Private content has no partition of its own here.
    """
    scope = call.reading.scope
    if scope is None and not content_of(call).open:
        raise Failed("this run was started in private, so it can keep nothing outside a chat")
    return scope


def place_at(call: ToolContext) -> Audience:
    """Who may be shown the agent's things here; without a chat, those whom the trigger is for."""
    reading = call.reading
    return reading.destination if reading.chat is not None else content_of(call)


def owner_at(call: ToolContext) -> Owner:
    """Where a thing that is made now belongs: to those who were there for what was read.

    Raises:
        Failed: It belongs nowhere; see `own_scope`.
    """
    run, reading = call.work.run, call.reading
    return Owner(
        tenant=run.tenant,
        agent_id=run.agent_id,
        scope=own_scope(call),
        audience=content_of(call),
        source_chat_id=reading.chat.id if reading.chat else None,
        source_run_id=run.id,
    )


def maker_of(call: ToolContext) -> Author:
    """On whose behalf a document or a thread is changed now."""
    reading, run = call.reading, call.work.run
    return Author(
        audience=content_of(call),
        source_chat_id=reading.chat.id if reading.chat else None,
        source_run_id=run.id,
        activation=run.activation,
        effect=effect_id(call.effect),
        guard=call.work.claim.guard,
    )


def reach_at(call: ToolContext) -> Reach:
    """What may be touched from here: open things, and those of the people who are here."""
    reading = call.reading
    return Reach(
        tenant=call.work.run.tenant,
        agent_id=call.work.run.agent_id,
        scopes=scopes_at(reading.scope),
        place=place_at(call),
        content=content_of(call),
    )


def document_reach(call: ToolContext) -> DocumentReach:
    """What documents can be got at from here: the chat's, those for its people, open ones."""
    reading, run = call.reading, call.work.run
    folders = [Folder(tenant=run.tenant, agent_id=run.agent_id)]
    if reading.scope is not None:
        folders.insert(0, Folder(tenant=run.tenant, agent_id=run.agent_id, scope=reading.scope))
    if reading.chat is not None:
        folders.insert(0, Folder(tenant=run.tenant, chat_id=reading.chat.id))
    return DocumentReach(folders=tuple(folders), place=place_at(call), content=content_of(call))
