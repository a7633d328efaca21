"""The stage of one situation: a local stack with people, agents and chats, used through its API."""

import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from bench.api import Api, CallRefusedError
from bench.eval.recording import ANSWER, Exchange, RecordingModel
from local.config import LOOPBACK, Config
from local.events import Request, Response, json_response
from local.stack import Stack
from local.template import Template
from local.web.server import Server
from skein.agent.tools import TOOLS
from skein.models.runs.tool_arguments import json_object, repeatable
from skein.trials.models.expectation import Played, PlayedCall

TENANT = "eval"
REASON = "An+evaluation+of+agents"  # operators see private content for a reason
LINE = "+14155550199"
SECONDS = 700  # a turned clock returns after ten minutes at the latest
PATIENCE_SECONDS = 3_600.0  # of real time for all that follows one event
PAUSE_SECONDS = 1.0
UNAVAILABLE = 503  # the stack has stopped waiting
MINUTE, HOUR, DAY = 60, 3_600, 86_400
READING = {name for name, tool in TOOLS.items() if tool.effect == "read"}


class Message(NamedTuple):
    """A message of a chat.

    Attributes:
        seq: Its number.
        sender: The name of the sender.
        by_agent: Whether an agent sent it.
        text: Its text.
        reply_to: The number of the message that this one replies to; None if it is no reply.
        kind: `text`, `keyword` or `notice`.
    """

    seq: int
    sender: str
    by_agent: bool
    text: str
    reply_to: int | None
    kind: str


class Stage:
    """People, agents and chats of one situation. Its methods call the API.

    Attributes:
        ids: The ids of people, agents, chats and threads by name or title.
        characters: The system prompts of the agents by name.
        exchanges: The prompts and answers of the model so far.
    """

    def __init__(self, url: str, exchanges: Sequence[Exchange] = ()) -> None:
        self.exchanges = exchanges
        self._api = Api(url, TENANT)
        self.ids: dict[str, str] = {}
        self.characters: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._posted = 0
        self._operator = self._api.token("operator", "admin chat")
        self._parts = ExitStack()
        self._began = self._now().date()

    def close(self) -> None:
        """Stop the services."""
        self._parts.close()

    # ------------------------------------------------------------------ who and where

    def agent(self, name: str, character: str, **fields: object) -> str:
        """Create an agent and return its id.

        Args:
            name: Its name.
            character: Its system prompt, which must be different for each agent of the situation.
            fields: Further fields of `POST /v1/agents`.
        """
        new = {"name": name, "system_prompt": character, "listed": True, **fields}
        self.ids[name] = self.admin("POST", "/v1/agents", new)["id"]
        self.characters[name] = character
        return self.ids[name]

    def person(self, name: str, *, known_as: str | None = None, **fields: object) -> str:
        """Create a person and return the person's id.

        Args:
            name: The name by which the situation refers to the person.
            known_as: The name that agents see; `name` if not given.
            fields: Further fields of `POST /v1/users`.
        """
        created = self.admin("POST", "/v1/users", {"name": known_as or name, **fields})
        self.ids[name] = created["id"]
        return self.ids[name]

    def chat(self, title: str, *members: str, **fields: object) -> str:
        """Open a chat and return its id. The first member must be a person, who opens it.

        Args:
            title: The title, by which the situation refers to the chat.
            members: The names of people and agents.
            fields: Further fields of `POST /v1/chats`; by default an open group.
        """
        listed = [
            {"kind": "agent" if name in self.characters else "user", "id": self.ids[name]}
            for name in members[1:]
        ]
        new = {"title": title, "kind": "group", "visibility": "open", "members": listed, **fields}
        made = self._as(members[0], "POST", "/v1/chats", new)
        self.ids[title] = made["id"]
        invited = {each["id"] for each in made["members"] if each["state"] == "invited"}
        for name in members[1:]:
            if self.ids[name] in invited:
                accepted = {"accept": True}
                self._as(name, "POST", f"/v1/chats/{self.ids[title]}/invitation", accepted)
        return self.ids[title]

    def direct(self, title: str, person: str, agent: str) -> str:
        """Open a private direct chat of a person and an agent, and return its id."""
        return self.chat(title, person, agent, kind="direct", visibility="private")

    def agent_on_line(self, name: str, character: str, **fields: object) -> None:
        """Create an agent, as `agent` does, and connect the line to it."""
        agent_id = self.agent(name, character, **fields)
        self.admin("POST", "/v1/lines", {"phone": LINE, "agent_id": agent_id})

    def service(self, tool: str, **fields: object) -> list[Any]:
        """Start an HTTP service, create a writing tool that calls it, and return the calls it gets.

        The list has the JSON of each call, and grows with each call.

        Args:
            tool: The name of the tool. Agents get the tool only if they list it.
            fields: Further fields of `POST /v1/tools`.
        """
        done: dict[str, Any] = {}
        calls: list[Any] = []

        def answer(request: Request) -> Response:
            key = request.headers["idempotency-key"]
            if key not in done:
                done[key] = json.loads(request.body)
                calls.append(done[key])
            return json_response(HTTPStatus.OK, {"done": done[key]})

        server = Server(0, answer)
        server.start()
        self._parts.callback(server.stop)
        http = {"method": "POST", "url": f"http://{LOOPBACK}:{server.port}/{tool}"}
        new = {"name": tool, "effect": "write", "idempotent": True, "privacy": "keeps_by_person"}
        self.admin("POST", "/v1/tools", {**new, "http": http, **fields})
        return calls

    def office(self, agent: str, *people: str, respond: str = "mention") -> None:
        """Create people, and open the group Office with these people and an agent."""
        for person in people:
            self.person(person)
        self.chat("Office", *people, agent, respond=respond)

    def office_and_sales(self, agent: str) -> None:
        """Create Ann and Ben, and open two groups, Office and Sales, with both and an agent."""
        for person in ("Ann", "Ben"):
            self.person(person)
        self.chat("Office", "Ann", "Ben", agent, respond="mention")
        self.chat("Sales", "Ben", "Ann", agent, respond="mention")

    # ------------------------------------------------------------------ what happens

    def say(self, person: str, chat: str, text: str, *, wait: bool = True) -> None:
        """Post a message. By default, wait until all work that follows is done."""
        self._posted += 1
        body = {"text": text, "client_id": f"eval-{self._posted}"}
        self._as(person, "POST", f"/v1/chats/{self.ids[chat]}/messages", body)
        if wait:
            self.drain()

    def sms(self, phone: str, text: str, *, wait: bool = True, picture: str = "") -> None:
        """Send an SMS to the line. By default, wait until all work that follows is done.

        Args:
            picture: A PNG that is sent along, in base64.
        """
        media = [{"type": "image/png", "data": picture}] if picture else []
        body = {"from": phone, "to": LINE, "body": text, "media": media}
        self._call("POST", "/local/sms", body)
        if wait:
            self.drain()

    def link(self, person: str, phone: str) -> None:
        """Link a phone number to a person, with the code that was sent to the number."""
        path = f"/v1/users/{self.ids[person]}/phones/{quote(phone)}"
        self.admin("POST", f"{path}/code")
        self.drain()
        texts = self._call("GET", f"/local/sms?to={quote(phone)}")["items"]
        self.admin("PUT", path, {"code": texts[-1]["body"][:6]})

    def step_in(self, chat: str, text: str, *, briefing: str) -> None:
        """Take a chat over as a member of the team, post a message, and hand the chat back."""
        path = f"/v1/chats/{self.ids[chat]}/desk"
        holder = {"holder": "me", "name": "Mia"}
        self.admin("PUT", f"{path}?reason={REASON}", holder)
        self.admin("POST", f"{path}/messages", {"text": text, "client_id": "team"})
        self.drain()
        self.admin("DELETE", path, {"briefing": briefing})
        self.drain()

    def choose(self, person: str, chat: str, label: str) -> bool:
        """Answer the newest open question with the option of this label; False if none is open."""
        path = f"/v1/chats/{self.ids[chat]}/messages"
        for each in self._as(person, "GET", f"{path}?limit=100")["items"][::-1]:
            asked = each["choice"]
            for option in asked["options"] if asked and asked["status"] == "open" else ():
                if label.casefold() in option["label"].casefold():
                    answer = {"seq": each["seq"], "option": option["id"]}
                    body = {"choice": answer, "client_id": f"choice-{each['seq']}"}
                    self._as(person, "POST", path, body)
                    self.drain()
                    return True
        return False

    def drain(self) -> None:
        """Wait until the stack has done all its work."""
        self._patiently(lambda: self._call("POST", "/local/drain", {}))

    def turn(self, seconds: float) -> None:
        """Advance the clock, and wait until all work that is due by then is done."""
        until = self._now() + timedelta(seconds=seconds)

        def advance() -> None:
            left = max((until - self._now()).total_seconds(), 0.0)
            self._call("POST", "/local/clock", {"advance_seconds": left})

        self._patiently(advance)

    def admin(self, method: str, path: str, body: object = None) -> Any:
        """Make a call as the operator and return its JSON."""
        return self._call(method, path, body, token=self._operator)

    # ------------------------------------------------------------------ what came of it

    def messages(self, chat: str, *, reader: str) -> list[Message]:
        """Return the newest 100 messages of a chat, oldest first."""
        path = f"/v1/chats/{self.ids[chat]}/messages?limit=100"
        return [
            Message(
                each["seq"],
                each["sender"]["name"],
                each["sender"]["kind"] == "agent",
                each["text"] or "",
                each["reply_to"],
                each["kind"],
            )
            for each in self._as(reader, "GET", path)["items"]
        ]

    def answers(self, chat: str, *, reader: str, agent: str | None = None) -> list[str]:
        """Return what agents, or one agent, said in a chat, oldest first."""
        return [
            message.text
            for message in self.messages(chat, reader=reader)
            if message.by_agent
            and message.kind == "text"
            and (agent is None or message.sender == agent)
        ]

    def received(self, phone: str) -> list[str]:
        """Return the SMS that a phone received, oldest first."""
        found = self._call("GET", f"/local/sms?to={quote(phone)}")["items"]
        return [each["body"] for each in sorted(found, key=lambda each: each["created_at"])]

    def played(self, agent: str) -> Played:
        """Return the calls of tools that an agent made today, oldest run first."""
        steps = (step for run in self._runs(agent) for step in run["steps"])
        calls = (call for step in steps for call in step["tool_calls"])
        return Played(
            calls=tuple(
                PlayedCall(each["name"], json_object(repeatable(each["arguments"])))
                for each in calls
            )
        )

    def looks_up(self, agent: str, fact: str, tools: Collection[str], *, since: int) -> bool:
        """Tell whether an agent called one of these tools.

        Also true if the agent's first prompt showed the fact, because then the agent needs no tool.

        Args:
            since: How many prompts there were before the agent was asked. The next prompt is the
                first that counts.
        """
        prompts = [each.prompt for each in self.exchanges[since:] if each.kind == ANSWER]
        return any(fact in prompt for prompt in prompts[:1]) or not set(tools).isdisjoint(
            call.tool for call in self.played(agent).calls
        )

    def steps(self) -> Iterator[int]:
        """Yield how often each completed run called the model; skip runs with a reading tool."""
        for agent in self.characters:
            for run in self._runs(agent):
                called = {call["name"] for step in run["steps"] for call in step["tool_calls"]}
                if run["status"] == "done" and called.isdisjoint(READING):
                    yield len(run["steps"])

    def _runs(self, agent: str) -> Iterator[Any]:
        """Yield an agent's runs of today with their steps, the oldest first."""
        yield from map(self.run, self.run_ids(agent))

    def run_ids(self, agent: str) -> list[str]:
        """Return the ids of an agent's runs in the situation, the oldest first."""
        path, found = f"/v1/agents/{self.ids[agent]}/runs?limit=100", list[str]()
        for n in range((self._now().date() - self._began).days + 1):
            runs = self.admin("GET", f"{path}&day={self._began + timedelta(days=n)}")["items"]
            found += [run["id"] for run in reversed(runs)]
        return found

    def run(self, run_id: str) -> Any:
        """Return a run with its steps."""
        return self.admin("GET", f"/v1/runs/{run_id}?reason={REASON}")

    # ------------------------------------------------------------------ calls

    def _now(self) -> datetime:
        return datetime.fromisoformat(self._call("GET", "/local/config")["now"])

    def _patiently(self, wait: Callable[[], object]) -> None:
        """Wait again whenever a wait times out because a slow model is still at work.

        Raises:
            CallRefusedError: The model takes longer than `PATIENCE_SECONDS`, or the call failed for
                another reason.
        """
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                wait()
            except CallRefusedError as error:
                if error.status != UNAVAILABLE or time.monotonic() > until:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _as(self, person: str, method: str, path: str, body: object = None) -> Any:
        if person not in self._tokens:
            self._tokens[person] = self._api.token(self.ids[person])
        return self._call(method, path, body, token=self._tokens[person])

    def _call(self, method: str, path: str, body: object = None, *, token: str = "") -> Any:
        return self._api.ok(method, path, body, token=token, seconds=SECONDS)


AnyStage = TypeVar("AnyStage", bound=Stage)


@contextmanager
def stage(
    kind: type[AnyStage],
    *,
    base_url: str | None,
    api_key: str | None,
    settings: Mapping[str, str],
) -> Iterator[AnyStage]:
    """Start a local stack without data, and yield a stage on it.

    Args:
        kind: The class of the stage.
        base_url: The URL of the model's API; None for OpenAI's own.
        api_key: The key of the API; None if it takes none.
        settings: Skein's settings as environment variables.
    """
    with ExitStack() as parts:
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="skein-eval-")))
        config = Config(
            port=0,
            data_dir=folder / "data",
            openai_base_url=base_url,
            openai_api_key=api_key,
            settings=dict(settings),
        )
        exchanges: list[Exchange] = []
        stack = Stack(
            config, template=_template(), model=lambda model: RecordingModel(model, exchanges)
        )
        url = parts.enter_context(stack).url
        yield parts.enter_context(closing(kind(url, exchanges)))


@cache
def _template() -> Template:
    """Return the template, which the stacks of all situations share."""
    return Template.load()
