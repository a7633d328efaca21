"""A chat of any length in Skein. Its turns are made by the services of the API and the workers."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal

from bench.turns.fills import Fill
from bench.turns.script import SYSTEM_PROMPT, text
from bench.turns.stand import BEGUN, Stand
from skein.models.chats.chat import Chat, Message
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.membership import Membership
from skein.models.chats.session import Session
from skein.models.chats.summary import Summary
from skein.models.common.base import NamedMember
from skein.models.common.storage import Item
from skein.models.directory.agent import DEFAULT_TOOLS, Agent, ToolName
from skein.models.directory.user import User
from skein.models.outbox.jobs import RecallJob, RunJob, SummaryJob, UpkeepJob
from skein.models.runs.run import Run
from skein.services.chat_state.history_window import pinned
from skein.services.chats.post_message import NewMessage

TENANT = "bench"
BETWEEN_MESSAGES = timedelta(seconds=30)
SECONDS_BETWEEN_TURNS = 60
INVOCATION = timedelta(seconds=120)
INDEXED = 1_000  # the oldest messages of a chat; a search returns 100 passages

Kind = Literal["direct", "group"]


class TurnFailedError(RuntimeError):
    """A turn did not produce a whole answer, so its cost means nothing."""


class SkeinChat:
    """One chat of a person and an agent.

    Args:
        stand: The services and the table.
        kind: A direct chat, or an open group in which the agent answers in text mode.
        chat_id: The chat's id, which begins with `chat_`. The ids of the agent and the person are
            derived from the chat's id.

    Attributes:
        said: The number of messages that the person has posted.
    """

    def __init__(
        self,
        stand: Stand,
        *,
        kind: Kind = "direct",
        chat_id: str = "chat_1",
        system_prompt: str = SYSTEM_PROMPT,
        tools: tuple[ToolName, ...] = DEFAULT_TOOLS,
    ) -> None:
        self._stand = stand
        self._chat_id = chat_id
        self._kind = kind
        self._prompt = system_prompt
        self._tools = tools
        self._length = 0
        self.said = 0

    @property
    def person(self) -> NamedMember:
        """The person who writes to the agent."""
        return NamedMember(kind="user", id=f"usr_{self._suffix}", name="Husam")

    @property
    def agent(self) -> NamedMember:
        """The agent that answers."""
        return NamedMember(kind="agent", id=f"agt_{self._suffix}", name="Coach")

    @property
    def _suffix(self) -> str:
        return self._chat_id.removeprefix("chat_")

    # ------------------------------------------------------------------ how it comes to be

    def create(self, messages: int, fill: Fill) -> None:
        """Write the chat with this many messages; set the clock to the newest message's time.

        The items are the same as those that Skein would write: there are idempotency records, and a
        pinned summary that covers the messages.
        """
        self._stand.clock.set(max(self._stand.clock.now(), BEGUN + messages * BETWEEN_MESSAGES))
        begun = self._stand.clock.now() - messages * BETWEEN_MESSAGES
        self._length = messages
        agent = Agent(
            tenant=TENANT,
            id=self.agent.id,
            name=self.agent.name,
            system_prompt=self._prompt,
            enabled_tools=self._tools,
            reply_mode="text",
            created_at=begun,
        )
        user = User(tenant=TENANT, id=self.person.id, name=self.person.name, created_at=begun)
        fill(self._messages(messages, begun))
        chat = self._chat(messages, begun)
        members = [
            Membership(tenant=TENANT, chat_id=chat.id, member=member, seen_seq=messages)
            for member in chat.roster
        ]
        fill(
            [
                agent.to_item() | agent.key._asdict(),
                user.to_item() | user.key._asdict(),
                chat.to_item() | chat.key._asdict(),
                *(one.to_item(chat) | one.key._asdict() for one in members),
            ]
        )

    def index(self, first_seq: int = 1, last_seq: int | None = INDEXED) -> None:
        """Index messages of the chat, so that prompts can recall them."""
        job = RecallJob(
            tenant=TENANT, chat_id=self._chat_id, first_seq=first_seq, last_seq=last_seq
        )
        worker = self._stand.app.recall_worker
        worker.take(job, deadline=self._stand.clock.now() + INVOCATION)

    def _message(self, seq: int, begun: datetime) -> Message:
        return Message(
            tenant=TENANT,
            chat_id=self._chat_id,
            id=f"msg_{self._chat_id}_{seq}",
            seq=seq,
            text=text(seq),
            sender=self.person if seq % 2 else self.agent,
            client_id=f"filled-{seq}",
            created_at=begun + seq * BETWEEN_MESSAGES,
        )

    def _messages(self, count: int, begun: datetime) -> Iterator[Item]:
        for seq in range(1, count + 1):
            message = self._message(seq, begun)
            record = IdempotencyRecord.of(message)
            yield message.to_item() | message.key._asdict()
            yield record.to_item() | record.key._asdict()

    def _chat(self, messages: int, begun: datetime) -> Chat:
        last = self._message(messages, begun) if messages else None
        chat = Chat(
            tenant=TENANT,
            id=self._chat_id,
            title="Training",
            kind=self._kind,
            visibility="private" if self._kind == "direct" else "open",
            roster=(self.person, self.agent),
            last_seq=messages,
            last_message=last.preview() if last else None,
            activity_hour=self._stand.clock.now().replace(minute=0, second=0),
            session=self._session(begun) if self._kind == "direct" else None,
            created_at=begun,
        )
        if messages < self._stand.settings.summary_message_threshold:
            return chat
        record = Summary(
            text="They train for a race. " * 20,
            from_seq=1,
            seq=messages,
            audience=chat.readers,
            at=self._stand.clock.now(),
        )
        pin = pinned(chat, record, self._stand.settings)
        return chat.model_copy(update={"summary": record, "pinned": pin})

    def _session(self, begun: datetime) -> Session:
        """Return a single session for the whole chat, which has no long gap and no reset."""
        return Session(id=f"ses_{self._suffix}", started_at=begun, first_seq=1)

    # ------------------------------------------------------------------ turns

    def turn(self, said: str = "", *, fresh_worker: bool = False) -> RunJob:
        """Post one message and carry out its run; see `check`.

        Args:
            said: The message; by default the next one of the script.
            fresh_worker: Whether a new worker with empty caches carries out the run; otherwise, a
                warm one with cached parts of the chat does.
        """
        job = self.ask(said)
        worker = self._stand.new_app() if fresh_worker else self._stand.app
        worker.turns.take(job, deadline=self._stand.clock.now() + INVOCATION)
        return job

    def ask(self, said: str = "") -> RunJob:
        """Post the person's next message, and return the job of its run.

        Args:
            said: The message; by default the next one of the script.

        Raises:
            TurnFailedError: The message started no run.
        """
        self.said += 1
        self._stand.app.app_messages.post(
            NewMessage(
                tenant=TENANT,
                chat_id=self._chat_id,
                sender=self.person.ref,
                text=said or text(self._length + 2 * self.said - 1),
                client_id=f"said-{self.said}",
            )
        )
        self._stand.clock.advance(self._stand.settings.reply_debounce_seconds)
        jobs = [job for job in self._stand.queues.ready("turns") if isinstance(job, RunJob)]
        if len(jobs) != 1:
            raise TurnFailedError(f"{len(jobs)} runs follow from a message")
        return jobs[0]

    def check(self, job: RunJob) -> None:
        """Check that a turn was complete; otherwise its cost would mean nothing.

        Raises:
            TurnFailedError: The run did not succeed, its prompt lacked context, or the chat does
                not hold the question and the answer.
        """
        item = self._stand.table.get(Run.key_of(TENANT, job.run_id))
        run = Run.from_item(item) if item else None
        if run is None or run.status != "done" or run.marks or run.shown is None:
            raise TurnFailedError(f"a run should be done: {run}")
        found = self._stand.table.get(Chat.key_of(TENANT, self._chat_id))
        chat = Chat.from_item(found) if found else None
        expected = self._length + 2 * self.said
        if chat is None or chat.last_seq != expected or run.shown.seq != expected - 1:
            raise TurnFailedError(f"message {expected} should be the answer: {chat}")

    def rest(self) -> None:
        """Advance the clock between two turns, and do the background work that is due."""
        stand = self._stand
        stand.clock.advance(SECONDS_BETWEEN_TURNS)
        for upkeep in stand.queues.take(UpkeepJob):
            stand.app.upkeep.keep(upkeep)
        for summary in stand.queues.take(SummaryJob):
            task, deadline = stand.app.summary_tasks.of(summary), stand.clock.now() + INVOCATION
            stand.app.background_engine.run(task, summary, deadline=deadline)
