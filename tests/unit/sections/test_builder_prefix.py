"""Consecutive prompts begin alike, so that a provider's cache can serve their heads.

RECALLED stands behind the history and differs from prompt to prompt, so no head holds it. Shares of
whole prompts are measured without it.
"""

import itertools
from typing import Any

import pytest

from bench.prefix import EVERY_TOOL, QuestionOutcome, conversation, shares
from bench.turns.script import SYSTEM_PROMPT
from skein.models.common.address import phone_address
from skein.models.runs.completion import ModelRequest
from skein.models.runs.step import HISTORY, PromptRecord
from skein.settings import Settings
from tests.support.builders import LINE, TENANT, World, bot, person, tokens
from tests.support.fakes import ScriptedModel

HUSAM, SARAH = person(), person("usr_sarah", "Sarah")
COACH = bot()
MESSAGES = 80
SETTLED = 50

QUESTION = (
    "Question {n}: my legs felt heavy after yesterday's intervals, so what should I do today?"
)
ANSWER = "Answer {n}: take it easy, run 40 minutes at a pace at which you can talk, and sleep well."


def _sent(request: ModelRequest) -> bytes:
    return b"".join(f"{m.role}\0{m.content}\0".encode() for m in request.messages)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two prompts share as their heads."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _conversation(history_format: str, prompt: str, **chat: Any) -> list[bytes]:
    """The prompts of one chat, from its 50th message on, while another chat is busy, too.

    Only the turns whose prompts are compared are played; the messages before are only posted.
    """
    model = ScriptedModel.saying(default=lambda _: ANSWER.format(n=len(model.requests)))
    world = World(Settings(recall_tokens=0), model)
    world.agent(system_prompt=prompt, history_format=history_format, reply_mode="text")
    world.chat(HUSAM, COACH, **chat)
    world.chat(SARAH, COACH, chat_id="chat_2", title="Sarah's plan")
    prompts: list[bytes] = []
    for n in range(MESSAGES // 2):
        world.clock.advance(60 + 7 * n)
        world.post(QUESTION.format(n=n), HUSAM)
        if 2 * n < SETTLED:
            world.post(ANSWER.format(n=n), COACH)
            continue
        world.drain()
        prompts.append(_sent(model.requests[-1]))
        world.post(f"And what about me, {n}?", SARAH, chat_id="chat_2")
        world.drain()
    assert len(world.messages()) == MESSAGES
    return prompts


def _shared(prompts: list[bytes]) -> float:
    """The share of all bytes that stand in the common head with the prompt before."""
    pairs = list(itertools.pairwise(prompts))
    return sum(_common(*pair) for pair in pairs) / sum(len(later) for _, later in pairs)


@pytest.mark.check
@pytest.mark.parametrize("history_format", ["timeline", "roles"])
def test_four_fifths_of_a_prompt_are_its_predecessors_head(history_format: str) -> None:
    share = _shared(_conversation(history_format, "You coach runners."))
    print(f"\na group as {history_format}: {share:.1%}")  # noqa: T201
    assert share >= 0.8


@pytest.mark.check
@pytest.mark.parametrize("history_format", ["timeline", "roles"])
def test_prompts_on_a_line_with_long_system_prompt_share_four_fifths(history_format: str) -> None:
    """Their prompts hold few messages, so it is the system prompt that counts."""
    rules = "Be kind, be brief, and never promise what you cannot keep. " * 100
    chat: dict[str, Any] = {"kind": "direct", "visibility": "private"}
    chat["line"] = phone_address(LINE)
    share = _shared(_conversation(history_format, rules, **chat))
    print(f"\na line as {history_format}: {share:.1%}")  # noqa: T201
    assert share >= 0.8


def _changed(earlier: QuestionOutcome, later: QuestionOutcome) -> str:
    """The first changed section before the history; the history if there is none."""
    stable = (one.prompt.sections[: one.prompt.stable] for one in (earlier, later))
    return next((new.name for old, new in zip(*stable, strict=False) if old != new), HISTORY)


@pytest.mark.check
def test_provider_with_prefix_cache_serves_most_of_a_direct_chat() -> None:
    """In tokens, tools included, from the first turn on; a direct chat leaves the most again.

    TODAY stands behind the summary, so it is charged again when a summary comes.

    An agent with one chat is not offered `send_message`, whose schema would be a part of the head.
    """
    asked = conversation("direct", SYSTEM_PROMPT, tokens(), turns=30)
    share = shares(asked, tokens())["ideal"]
    print(f"\na direct chat: {share:.1%}")  # noqa: T201
    assert share >= 0.8
    ends = {_changed(one, other) for one, other in itertools.pairwise(asked)}
    assert ends <= {HISTORY, "CONVERSATION SUMMARY"}


def test_the_schemas_of_every_tool_are_charged_once() -> None:
    asked = conversation("direct", SYSTEM_PROMPT, tokens(), tools=EVERY_TOOL, turns=8)
    offered = {tool.name for tool in asked[0].request.tools}
    alone = {"enter_chat", "borrow_context", "end_run", "resume_run"}
    alone |= {"cancel_plan", "find_time"}  # with a plan, and in a group
    assert offered == {*EVERY_TOOL} - alone
    assert all(one.request.tools == asked[0].request.tools for one in asked)
    assert shares(asked, tokens())["openai"] >= 0.9


def test_an_agent_with_more_chats_than_are_listed_keeps_its_head_too() -> None:
    """Which 20 of them are the newest changes all the time: then they stand behind the history."""
    world = World(model=ScriptedModel.saying(default="OK"))
    world.agent(history_format="timeline", reply_mode="text")
    world.chat(HUSAM, COACH)
    for n in range(25):
        world.chat(SARAH, COACH, chat_id=f"chat_x{n}", title=f"Chat {n}", respond="manual")
    heads = []
    for n in range(6):
        world.post(f"Question {n}", HUSAM)
        world.drain()
        heads.append(world.model.requests[-1].messages[0].content.split("CHAT HISTORY")[0])
        world.post(f"Something else {n}", SARAH, chat_id=f"chat_x{n}")
    assert len(set(heads)) == 1
    sections = [s.name for s in _prompt_of(world).sections]
    assert sections.index("YOUR CHATS") > sections.index("CHAT HISTORY")


def test_the_head_stays_while_other_chats_are_busy() -> None:
    world = World(model=ScriptedModel.saying(default="OK"))
    world.agent(history_format="timeline", reply_mode="text")
    world.chat(HUSAM, COACH)
    world.chat(SARAH, COACH, chat_id="chat_2", title="Sarah's plan")
    heads = []
    for n in range(6):
        world.post(f"Question {n}", HUSAM)
        world.drain()
        heads.append(world.model.requests[-1].messages[0].content.split("\n  [msg:")[0])
        world.post(f"Something else {n}", SARAH, chat_id="chat_2")
        world.drain()
    assert len(set(heads)) == 1


def test_a_history_that_is_cut_for_its_size_begins_where_it_did_for_a_while() -> None:
    world = World(Settings(max_context_tokens=400), ScriptedModel.saying(default=ANSWER))
    world.agent(history_format="roles", reply_mode="text")
    world.chat(HUSAM, COACH, kind="direct", visibility="private", line=phone_address(LINE))
    firsts = []
    for n in range(20):
        world.post(QUESTION.format(n=n), HUSAM)
        world.drain()
        turns = [m for m in world.model.requests[-1].messages if m.role != "system"]
        firsts.append(turns[0].content)
        assert len(turns) > 4 or n < 3
    moves = sum(one != other for one, other in itertools.pairwise(firsts))
    assert moves <= 10


def _prompt_of(world: World) -> PromptRecord:
    record = world.app.run_views.get(TENANT, world.runs()[-1].id).prompt
    assert record is not None
    return record
