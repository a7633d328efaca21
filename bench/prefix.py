"""The share of prompts that a provider's prefix cache can serve.

The conversations have 200 turns of the script, with the default settings. Two consecutive prompts
share the tokens with which both begin. A prompt begins with the tools, because they are sent first.
OpenAI's cache serves shared beginnings of 1,024 tokens and more, in steps of 128
(platform.openai.com/docs/guides/prompt-caching).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import cast, get_args

from bench.turns.fills import filled_by_transactions
from bench.turns.script import SYSTEM_PROMPT
from bench.turns.skein_chat import TENANT, Kind, SkeinChat
from bench.turns.stand import Stand
from skein.models.directory.agent import DEFAULT_TOOLS, ToolName
from skein.models.runs.completion import ModelRequest
from skein.models.runs.step import PromptRecord, Step
from skein.ports import ModelTokens
from tests.fakes.table import MemoryTable

TURNS = 200
MIN_HEAD = 1_024
STEP = 128
RULES = " Ask for the pulse at rest, and for pain, before you raise the load by more than a tenth."
LONG_PROMPT = SYSTEM_PROMPT + RULES * 60
CHAT_ID = "chat_01KHRDDVQ0EKCGHG6EF8EDHSKF"  # as long as those that Skein gives
# What is said in the conversation whose RECALLED is counted, and how often.
FILLED, ROUNDS = 400, 5
SAID = (
    "Did my left knee feel fine after the four hills?",
    "Thanks, that helps a lot!",
    "Ha, good one.",
    "See you tomorrow, sleep well!",
)
EVERY_TOOL: tuple[ToolName, ...] = get_args(ToolName)
# Each with a name, the kind of chat, the system prompt and the tools.
CONVERSATIONS: tuple[tuple[str, Kind, str, tuple[ToolName, ...]], ...] = (
    ("direct, short system prompt", "direct", SYSTEM_PROMPT, DEFAULT_TOOLS),
    ("direct, long system prompt", "direct", LONG_PROMPT, DEFAULT_TOOLS),
    ("direct, every tool", "direct", SYSTEM_PROMPT, EVERY_TOOL),
    ("group, short system prompt", "group", SYSTEM_PROMPT, DEFAULT_TOOLS),
    ("group, long system prompt", "group", LONG_PROMPT, DEFAULT_TOOLS),
)


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The request to the model in a turn, and the prompt from which the request was made."""

    request: ModelRequest
    prompt: PromptRecord


def conversation(
    kind: Kind,
    prompt: str,
    tokens: ModelTokens,
    *,
    tools: tuple[ToolName, ...] = DEFAULT_TOOLS,
    turns: int = TURNS,
    indexed: bool = False,
) -> list[QuestionOutcome]:
    """Return the request to the model in each turn of a conversation, from its first message on.

    Args:
        kind: The kind of chat.
        prompt: The agent's system prompt.
        turns: The number of turns.
        indexed: Whether messages are indexed, so that prompts have a section RECALLED.
    """
    stand = Stand(MemoryTable, tokens)
    table = cast("MemoryTable", stand.table)
    chat = SkeinChat(stand, kind=kind, chat_id=CHAT_ID, system_prompt=prompt, tools=tools)
    chat.create(0, filled_by_transactions(table))
    asked = []
    for turn in range(turns):
        job = chat.turn()
        chat.check(job)
        step = table.get(Step.key_of(TENANT, job.run_id, 1))
        if stand.model.last is not None and step is not None:
            asked.append(QuestionOutcome(stand.model.last, PromptRecord.unpacked(step["prompt"])))
        chat.rest()
        if indexed:
            chat.index(2 * turn + 1, None)
        table.log.clear()
    return asked


def recalled_tokens(tokens: ModelTokens) -> list[list[int]]:
    """Return the tokens of the section RECALLED in each turn, in one list for each text of `SAID`.

    In a chat of 400 indexed messages, a question is followed by three turns of small talk.
    """
    stand = Stand(MemoryTable, tokens)
    chat = SkeinChat(stand, kind="direct", chat_id=CHAT_ID, system_prompt=SYSTEM_PROMPT)
    chat.create(FILLED, filled_by_transactions(cast("MemoryTable", stand.table)))
    chat.index(1, None)
    found: list[list[int]] = [[] for _ in SAID]
    for _ in range(ROUNDS):
        for said, counts in zip(SAID, found, strict=True):
            job = chat.turn(said)
            chat.check(job)
            step = stand.table.get(Step.key_of(TENANT, job.run_id, 1)) or {}
            sections = PromptRecord.unpacked(step["prompt"]).sections
            counts.append(sum(each.tokens for each in sections if each.name == "RECALLED"))
            chat.rest()
    return found


def shares(asked: Iterable[QuestionOutcome], tokens: ModelTokens) -> dict[str, float]:
    """Return the share of all prompt tokens that a cache serves: ideally, and by OpenAI's rule."""
    total = ideal = openai = 0
    for earlier, later in pairwise(_pieces(one.request) for one in asked):
        same = _same(earlier, later)
        head = sum(tokens.count(piece) for piece in later[:same])
        if same < min(len(earlier), len(later)):
            head += tokens.count(common(earlier[same], later[same]))
        total += sum(tokens.count(piece) for piece in later)
        ideal += head
        openai += served(head)
    return {"ideal": ideal / total, "openai": openai / total}


def share_of_limit(request: ModelRequest, tokens: ModelTokens, limit: int) -> float:
    """Return the share of the token limit that a request takes, its tools included."""
    return sum(map(tokens.count, _pieces(request))) / limit


def served(head: int) -> int:
    """Return how many tokens of a shared prefix are served from OpenAI's cache."""
    return head // STEP * STEP if head >= MIN_HEAD else 0


def common(one: str, other: str) -> str:
    """Return the beginning that is the same in both texts."""
    return one[: _same(one, other)]


def _pieces(request: ModelRequest) -> list[str]:
    """Return a request's parts as its provider reads them: the tools, then the messages."""
    tools = json.dumps([tool.model_dump() for tool in request.tools])
    return [tools, *(f"{one.role}\n{one.content}\n" for one in request.messages)]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal elements at the beginning of two sequences."""
    return sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(one, other, strict=False)))
