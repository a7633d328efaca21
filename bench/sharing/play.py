"""Play a story through the API, and read the prompt of each question.

Each person has a direct chat with the agent, and says in it what the person says in the story, at
the story's times. A question has no time in the story; it is asked 20 minutes after the turn before
it. It is asked in a copy of the world, so that no later prompt contains it.

The model always answers `OK.`, so no summaries and no memories are made. To save time, the agent
answers a person's messages only just before this person asks a question, and messages are indexed
at the same moment. This changes no prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

import admin_api
from bench.sharing.rules import RoleRule, Rules
from bench.sharing.stories import AGENT, BETWEEN, Question, Story
from skein.models.outbox.jobs import RecallJob
from skein.models.runs.completion import ModelRequest
from tests.support.api_client import Client
from tests.support.builders import LONG_INVOCATION, QUEUES, TENANT, World, tokens
from tests.support.fakes import ScriptedModel

BUDGET = 2_000  # tokens of the history, RECALLED and memories together
SETTINGS = {
    "recall_tokens": 1_800,
    "max_context_tokens": 180,  # of the history with the question
    "message_history_limit": 2,
    "auto_summary": False,
    "consolidate": False,
}
EARLIER = timedelta(hours=1)  # before the first turn, people greet the agent
TO_ANSWER = timedelta(seconds=30)
GREETING, ANSWER = "Hello there, how are you?", "OK."
EVERYBODY = "everybody"  # a role that all people have, if all may be told everything
EVERYTHING: Rules = (RoleRule(EVERYBODY, EVERYBODY),)
COPIED_IDS = 1_000_000  # ids of a copy begin after those of its world


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a question's prompt contains of the words that people have said.

    Attributes:
        strings: The strings of the question that the prompt contains.
        tokens: The tokens of the prompt's history, RECALLED section and memories.
    """

    question: Question
    strings: frozenset[str]
    tokens: int


class Play:
    """One story, played in a tenant of its own.

    Args:
        story: The story.
        rules: The sharing rules of the tenant.
    """

    def __init__(self, story: Story, rules: Rules) -> None:
        self._story = story
        self._world = World(model=ScriptedModel.saying(default=ANSWER))
        self._world.clock.set(story.turns[0].at - EARLIER)
        self._said = 0
        self._new: dict[str, tuple[int, int]] = {}  # the messages of each chat to index
        operator = Client(self._world, api=admin_api, sub="usr_operator", scope="admin")
        self._call(operator, "PATCH", "/v1/settings", SETTINGS)
        agent = self._call(
            operator,
            "POST",
            "/v1/agents",
            {
                "name": "Assistant",
                "system_prompt": "You help everybody here.",
                "listed": True,
                "who_may_add": "anyone",
                "reply_mode": "text",
            },
        )
        self._chats: dict[str, str] = {}
        more = [{"role": EVERYBODY}] if rules == EVERYTHING else []
        for person in story.people:
            roles = [
                {"role": person.role, "subject": _user_id(subject)} for subject in person.subjects
            ] or [{"role": person.role}]
            new = {"id": _user_id(person.id), "name": person.name, "roles": roles + more}
            self._call(operator, "POST", "/v1/users", new)
            direct = {"kind": "direct", "members": [{"kind": "agent", "id": agent["id"]}]}
            made = self._call(self._client(self._world, person.id), "POST", "/v1/chats", direct)
            self._chats[person.id] = made["id"]
        for number, rule in enumerate(rules, 1):
            self._call(operator, "POST", "/v1/sharing-rules", _body(rule, number))

    def prompts(self) -> Iterator[Prompt]:
        """Play the story, and yield the prompt of each question that counts."""
        world = self._world
        world.clock.advance(1)
        for person in self._story.people:
            self._say(world, person.id, GREETING)
        _play_until(world, world.clock.now() + TO_ANSWER)
        for person in self._story.people:
            self._respond(world, person.id, "manual")
        questions = [each for each in self._story.questions if each.counted]
        for place, turn in enumerate(self._story.turns, 1):
            _play_until(world, turn.at)
            if turn.role != AGENT:
                self._say(world, turn.person, turn.text)
            for question in questions:
                if question.turns == place:
                    yield self._asked(question, turn.at + BETWEEN)

    def _asked(self, question: Question, at: datetime) -> Prompt:
        """Ask a question in a copy of the world, and read its prompt."""
        before = self._world.clock.now()
        self._world.clock.set(at)
        self._index()
        copy = World(model=ScriptedModel.saying(default=ANSWER))
        copy.clock.set(at)
        copy.ids.skip_to(COPIED_IDS)
        copy.table.copy(self._world.table)
        self._world.clock.set(before)
        self._respond(copy, question.asker, "every")
        path = f"/v1/chats/{self._chats[question.asker]}/runs"
        self._call(self._client(copy, question.asker), "POST", path, {"all": True})
        _play_until(copy, at + TO_ANSWER)
        self._say(copy, question.asker, question.text)
        _play_until(copy, at + 2 * TO_ANSWER)
        told = _told(copy.model.requests[-1], question.text)
        held = told.lower()
        strings = frozenset(string for string in question.counted if string in held)
        return Prompt(question, strings, tokens().count(told))

    def _index(self) -> None:
        """Index the messages that were posted since the last question."""
        world = self._world
        for chat_id, (first_seq, last_seq) in self._new.items():
            job = RecallJob(tenant=TENANT, chat_id=chat_id, first_seq=first_seq, last_seq=last_seq)
            world.app.recall_worker.take(job, deadline=world.clock.now() + LONG_INVOCATION)
        self._new.clear()

    def _say(self, world: World, person: str, text: str) -> None:
        self._said += 1
        chat_id = self._chats[person]
        body = {"text": text, "client_id": f"said-{self._said}"}
        path = f"/v1/chats/{chat_id}/messages"
        seq = self._call(self._client(world, person), "POST", path, body)["seq"]
        if world is self._world:
            self._new[chat_id] = (self._new.get(chat_id, (seq, seq))[0], seq)

    def _respond(self, world: World, person: str, when: str) -> None:
        """Choose which messages of a person's chat the agent answers."""
        path = f"/v1/chats/{self._chats[person]}"
        self._call(self._client(world, person), "PATCH", path, {"respond": when})

    def _client(self, world: World, person: str) -> Client:
        name = self._story.person(person).name
        return Client(world, sub=_user_id(person), claims={"name": name})

    @staticmethod
    def _call(client: Client, method: str, path: str, body: Mapping[str, object]) -> Any:
        answer = client.call(method, path, body)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.body}")
        return answer.body


@dataclass(frozen=True, slots=True)
class Played:
    """What the prompts of one story contained.

    Attributes:
        needed: For each question, the share of the needed facts that the prompt contained.
        protected: For each question, whether the prompt contained a protected fact.
        most_tokens: The tokens of the largest prompt.
    """

    needed: tuple[float, ...]
    protected: tuple[bool, ...]
    most_tokens: int


def played(story: Story, rules: Rules) -> Played:
    """Play a story, and judge its prompts."""
    prompts = [*Play(story, rules).prompts()]
    return Played(
        tuple(
            len(one.strings) / len(one.question.counted)
            for one in prompts
            if one.question.kind == "utility"
        ),
        tuple(bool(one.strings) for one in prompts if one.question.kind == "privacy"),
        max((one.tokens for one in prompts), default=0),
    )


def _play_until(world: World, moment: datetime) -> None:
    """Do all work that is due by this moment, each at its due time."""
    while True:
        world.run_ready()
        due = [each.due_at for queue in QUEUES for each in world.queues.waiting(queue)]
        if not due or min(due) > moment:
            break
        world.clock.set(max(min(due), world.clock.now()))
    world.clock.set(max(moment, world.clock.now()))
    world.run_ready()


def _told(request: ModelRequest, question: str) -> str:
    """Return the text of a prompt, without its first message and the question.

    The first message never contains what people have said.
    """
    others: Sequence[str] = [message.content for message in request.messages[1:]]
    if question not in others[-1]:
        raise RuntimeError("the prompt does not end with the question")
    return "\n".join([*others[:-1], others[-1].replace(question, "", 1)])


def _user_id(person: str) -> str:
    return f"usr_{person}"


def _body(rule: RoleRule, number: int) -> dict[str, object]:
    return {
        "name": f"Rule {number}",
        "reason": "It helps them.",
        "from": {"role": rule.from_role},
        "to": {"role": rule.to_role},
        "same_subject": rule.same_subject,
    }
