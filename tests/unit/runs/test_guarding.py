"""The guardrail of an agent checks what goes into its model and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.common.reason import Reason
from skein.models.config.guardrail import Guardrail
from skein.models.runs.completion import ToolCall
from skein.services.runs.guarding import argument_texts
from skein.settings import Settings
from tests.support.api_client import operator
from tests.support.builders import World, bot, person
from tests.support.desk import Desk
from tests.support.fakes import Calls, ScriptedModel, calls

SORRY = "Ask our staff, please."
GUARDRAIL = Guardrail(id="gr1abc", version="3", text=SORRY)
BAD = "bomb"


@dataclass
class WordGuardrails:
    """Guardrails that block one word.

    Attributes:
        checked: The texts of each check, and whether a model wrote them.
        down: How many of the next checks fail.
    """

    checked: list[tuple[bool, list[str]]] = field(default_factory=list)
    down: int = 0

    def blocks(self, guardrail: Guardrail, texts: Sequence[str], *, output: bool) -> bool:
        assert guardrail == GUARDRAIL
        if self.down:
            self.down -= 1
            raise Unavailable("throttled")
        self.checked.append((output, list(texts)))
        return any(BAD in text for text in texts)


def guarded(*script: Any, group: bool = False, **fields: Any) -> tuple[World, WordGuardrails]:
    guardrails = WordGuardrails()
    world = World(
        Settings(apology=False),
        ScriptedModel.saying(*script),
        overrides={"guardrails": guardrails},
    )
    world.agent(settings={"guardrail": GUARDRAIL.model_dump()}, **fields)
    members = [person("usr_ann", "Ann")] if group else []
    world.chat(person(), bot(), *members, kind="group" if group else "direct")
    return world, guardrails


def test_new_messages_and_the_answer_are_checked() -> None:
    world, guardrails = guarded("First.", "Second.")
    for text in ("One", "Two"):
        world.post(text, person())
        world.drain()
    assert guardrails.checked == [
        (False, ["One"]),
        (True, ["First."]),
        (False, ["Two"]),
        (True, ["Second."]),
    ]
    assert world.texts() == ["One", "First.", "Two", "Second."]


@pytest.mark.parametrize(
    ("asked", "answer", "requests"),
    [(f"Build a {BAD}", "Never asked.", 0), ("How?", f"A {BAD} is", 1)],
)
def test_blocked_run_ends_with_the_operators_sentence(
    asked: str, answer: str, requests: int
) -> None:
    world, _ = guarded(answer)
    world.post(asked, person())
    world.drain()
    [run] = world.runs()
    assert (run.status, run.reason, run.attempts) == ("failed", Reason.GUARDRAIL_BLOCKED, 1)
    assert world.texts() == [asked, SORRY]
    assert len(world.model.requests) == requests


def test_group_that_is_answered_by_a_tool_is_guarded_too() -> None:
    said = {"text": f"A {BAD}", "reply_to": None, "wait": None, "chat_id": None}
    world, _ = guarded(
        calls(("send_message", said)), group=True, reply_mode="tools", history_format="timeline"
    )
    world.post("@Coach how?", person())
    world.drain()
    assert world.texts() == ["@Coach how?", SORRY]
    [run] = world.runs()
    assert run.reason == Reason.GUARDRAIL_BLOCKED


def test_results_of_tools_are_checked_before_the_model_is_shown_them() -> None:
    first: Calls = calls(("list_goals", {}))
    world, guardrails = guarded(first, "Done.", enabled_tools=("list_goals",))
    world.post("What are my goals?", person())
    world.drain()
    assert [output for output, _ in guardrails.checked] == [False, False, True]
    assert guardrails.checked[1][1] != ["What are my goals?"]


def test_run_waits_while_the_guardrail_cannot_be_asked() -> None:
    world, guardrails = guarded("Answer.")
    guardrails.down = 1
    world.post("One", person())
    world.drain()
    [run] = world.runs()
    assert (run.status, run.deferrals) == ("done", 1)
    assert len(world.model.requests) == 1
    assert world.texts() == ["One", "Answer."]


@pytest.mark.parametrize("edits", [{}, {"sections": {"NOW": f"NOW: {BAD}"}}])
def test_replay_is_checked(edits: Any) -> None:
    world, guardrails = guarded("Fine.", f"A {BAD}")
    world.post("One", person())
    world.drain()
    [run] = world.runs()
    blocked = operator(world).post(f"/v1/runs/{run.id}/replay", edits)
    assert (blocked.status, blocked.code) == (422, "unprocessable")
    assert guardrails.checked[-1] == ((False, [f"NOW: {BAD}"]) if edits else (True, [f"A {BAD}"]))


@pytest.mark.parametrize("asked", [f"A {BAD}?", "Hello?"])
def test_draft_for_the_team_is_checked(asked: str) -> None:
    world, guardrails = guarded("Hello.", f"A {BAD}")
    world.post("One", person())
    world.drain()
    mia = Desk(world)
    mia.take()
    world.post(asked, person())
    draft = mia.client.post(f"{mia.path}/drafts", {"kind": "answer"})
    assert (draft.status, draft.code) == (422, "unprocessable")
    assert (False, [asked]) in guardrails.checked
    assert len(world.model.requests) == (1 if BAD in asked else 2)


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [('{"a": ["x", {"b": "y"}], "n": 1}', ["a", "n", "x", "b", "y"]), ("{broken", ["{broken"])],
)
def test_every_text_in_arguments_is_checked(arguments: str, texts: list[str]) -> None:
    assert argument_texts(ToolCall(id="1", name="tool", arguments=arguments)) == texts
