"""A model that answers by the script of a situation, behind an OpenAI-compatible API."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bench.eval.situation import Script, ScriptedTurn, ToolCall
from bench.eval.stage import Stage
from skein.agent.spoken_text import NO_REPLY as SILENCE
from tests.support.converse_wire import MODEL
from tests.support.scripted_converse import ScriptedConverse
from tests.support.scripted_openai import Answer

END = "end_run"
CONVERSE = f"converse/{MODEL}"  # the name of the scripted model behind Bedrock's API


class ScriptedModel:
    """A model that gets a new script for each situation.

    Args:
        server: The server whose requests this model answers.
        single: Whether the model calls one tool at a time. If a scripted answer has several calls,
            each further request of the same run gets the next call; a request of another run drops
            the rest.
    """

    def __init__(self, server: ScriptedConverse, *, single: bool = False) -> None:
        self._server = server
        self._single = single
        self._rest: dict[str, list[ToolCall]] = {}  # by agent: the last call, and those to follow
        self._lock = threading.Lock()
        self._stage: Stage | None = None
        self._left: dict[str, list[ScriptedTurn]] = {}
        server.default = self._answer

    @property
    def base_url(self) -> str:
        """The URL of the API."""
        return self._server.base_url

    @property
    def endpoint(self) -> str:
        """The URL of Bedrock's API."""
        return self._server.endpoint

    def learn(self, script: Script, stage: Stage) -> None:
        """Replace the script by the one for the next situation."""
        self._server.reset()
        self._server.default = self._answer
        self._server.memories.extend(script.memories)
        with self._lock:
            self._stage = stage
            self._rest = {}
            self._left = {name: list(turns) for name, turns in script.turns.items()}

    def replay(self, plays: Mapping[bool, Sequence[Answer]], mark: str) -> None:
        """From now on, answer the plays of a run. Each play begins with the first answer.

        Args:
            plays: The answers to prompts that contain `mark` (True), and to prompts that don't
                (False).
        """

        def answer(request: Mapping[str, Any]) -> Answer:
            messages = request["messages"]
            marked = any(mark in str(each["content"]) for each in messages)
            done = sum(bool(each.get("tool_calls")) for each in messages)
            return plays[marked][done] if done < len(plays[marked]) else _silent(request)

        self._server.default = answer

    def _following(self, agent: str, request: Mapping[str, Any]) -> list[ToolCall]:
        """Return the calls that were held back, if the run that they belong to asks again."""
        made = self._rest.pop(agent, [])
        return made[1:] if made and _goes_on(request, made[0]) else []

    @property
    def left(self) -> int:
        """The number of scripted answers that no request has used."""
        with self._lock:
            return sum(map(len, self._left.values())) + len(self._server.memories)

    def _answer(self, request: Mapping[str, Any]) -> Answer:
        stage = self._stage
        if stage is None:
            return Answer("no situation is played", status=400)
        with self._lock:
            agent = _agent_of(request, stage)
            turns = self._left.get(agent, [])
            turn: ScriptedTurn | None = self._following(agent, request)
            if not turn:
                turn = turns.pop(0) if turns else None
        if turn is None:
            return _silent(request)
        if callable(turn):
            turn = turn(stage)
        if isinstance(turn, str):
            return Answer(turn)
        calls = [turn] if isinstance(turn, ToolCall) else list(turn)
        if self._single:
            with self._lock:
                self._rest[agent] = calls
            calls = calls[:1]
        return Answer("", tool_calls=[(each.name, each.arguments) for each in calls])


def _agent_of(request: Mapping[str, Any], stage: Stage) -> str:
    """Return the name of the agent whose system prompt the request holds."""
    head = str(request["messages"][0]["content"])
    return next((name for name, words in stage.characters.items() if words in head), "")


def _goes_on(request: Mapping[str, Any], last: ToolCall) -> bool:
    """Tell whether a request's last call is this call, because the same run asks again."""
    made = [call for message in request["messages"] for call in message.get("tool_calls") or ()]
    return [
        (each["function"]["name"], json.loads(each["function"]["arguments"])) for each in made[-1:]
    ] == [(last.name, dict(last.arguments))]


def _silent(request: Mapping[str, Any]) -> Answer:
    tools = {tool["function"]["name"] for tool in request.get("tools", ())}
    return Answer("", tool_calls=[(END, {})]) if END in tools else Answer(SILENCE)


@contextmanager
def scripted_model(*, single: bool = False) -> Iterator[ScriptedModel]:
    """Serve a scripted model on loopback, which calls one tool at a time if `single`.

    The model answers over OpenAI's API. Over Bedrock's API, its name is `CONVERSE`.
    """
    with ScriptedConverse() as server:
        yield ScriptedModel(server, single=single)
