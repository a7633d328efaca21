"""A prompt is as large as it says, and never larger than it may be."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.agent.sections.trigger import ShownTrigger
from skein.agent.sections.your_chats import YourChats
from skein.agent.tools import TOOLS, enabled
from skein.interface.budget import MESSAGE_OVERHEAD_TOKENS
from skein.interface.history import History
from skein.interface.reading import OwnChat
from skein.interface.section import listing
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember
from skein.models.runs.completion import ToolSpec
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.step import HISTORY, PromptRecord
from skein.models.runs.trigger import PlanTrigger, ServiceTrigger, Trigger
from skein.models.visibility.audience import OPEN
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.planning.sections import Goals, Plans
from skein.settings import Settings
from tests.support.builders import NOON, TENANT, World, bot, person, tokens
from tests.support.examples import examples
from tests.support.scene import MANNERS, WAKING, Scene

RESERVED = Settings().reserved_response_tokens
EVERY_TOOL = [tool.spec for tool in enabled(tuple(TOOLS))]
COACH, HUSAM = bot(), person()

WORDS = st.sampled_from(["run ", "日本語", "\u200b", '"\n', "🙂", "x" * 9 + " "])


def _sized(most: int) -> st.SearchStrategy[str]:
    """Texts of up to `most` characters, easy and hard ones."""
    return st.builds(lambda word, n: (word * n)[: max(n, 1)], WORDS, st.integers(1, most))


def _as_sent(prompt: PromptRecord) -> int:
    return sum(tokens().count(message.content) for message in prompt.messages())


def _billed(prompt: PromptRecord, tools: list[ToolSpec]) -> int:
    """What a provider counts: the messages, what stands around each, and the tools."""
    around = MESSAGE_OVERHEAD_TOKENS * len(prompt.messages())
    offered = tokens().count(json.dumps([tool.model_dump() for tool in tools]))
    return _as_sent(prompt) + around + offered


# ---------------------------------------------------------------------- exact


@pytest.mark.parametrize(("history", "reply"), MANNERS)
@pytest.mark.parametrize("waking", WAKING)
def test_sections_add_up_to_the_sent_prompt_except_the_nudge(
    waking: str, history: str, reply: str
) -> None:
    scene = Scene({"history_format": history, "reply_mode": reply})
    prompt = scene.prompt(WAKING[waking](scene))
    assert prompt.total_tokens == sum(section.tokens for section in prompt.sections)
    assert _as_sent(prompt) - prompt.total_tokens == tokens().count(prompt.nudge)


@pytest.mark.parametrize("history", ["timeline", "roles"])
def test_section_tokens_equal_its_stated_size(history: str) -> None:
    scene = Scene({"history_format": history})
    for section in scene.prompt(scene.asked_by_a_person()).sections:
        if section.name == HISTORY and history == "roles":
            continue
        without, after = tokens().count(section.text), tokens().count(f"{section.text}\n\n")
        assert section.tokens in {without, after}


@given(st.lists(_sized(60), min_size=1, max_size=12), st.integers(0, 200))
def test_long_list_shows_the_items_that_fit_and_the_number_of_others(
    texts: list[str], limit: int
) -> None:
    lines = [f"  - {json.dumps(text)}" for text in texts]
    section = listing("GOALS", lines, limit, tokens())
    assert section.tokens == tokens().count(f"{section.text}\n\n")
    head, *shown = section.text.split("\n")
    assert head == "GOALS:"
    if shown == lines:
        return
    *kept, mark = shown
    assert kept == lines[: len(kept)]
    assert mark == f"  - and {len(lines) - len(kept)} more"
    assert section.tokens <= max(limit, tokens().count(f"GOALS:\n{mark}\n\n"))


# ---------------------------------------------------------------------- never too large


def _chat(title: str, roster: list[NamedMember], chat_id: str = "chat_1", **fields: Any) -> Chat:
    return Chat(
        tenant=TENANT,
        id=chat_id,
        title=title,
        kind="group",
        visibility="open",
        roster=tuple(roster),
        activity_hour=NOON,
        created_at=NOON,
        **fields,
    )


NAMES = st.lists(_sized(30), min_size=1, max_size=4)
SIZES = st.sampled_from([9_000, 11_000, 15_000])  # of which all tools take 4,600


@st.composite
def crowds(draw: st.DrawFn) -> dict[str, Any]:
    """Much of everything: chats with large rosters, goals, plans, long messages, long triggers."""
    names, title = draw(NAMES), draw(_sized(60))
    roster = [person(f"usr_{n}", names[n % len(names)]) for n in range(draw(st.integers(1, 99)))]
    count = draw(st.integers(0, 60))
    text = draw(_sized(1_000)).strip() or "goal"
    return {
        "system_prompt": draw(_sized(8_000)),
        "titles": [title] * draw(st.integers(1, 20)),
        "roster": [*roster, COACH],
        "goals": [text] * count,
        "plans": [text[:100].strip() or "plan"] * count,
        "messages": draw(st.lists(_sized(4_000), min_size=1, max_size=5)),
        "payload": draw(_sized(8_000)),
        "waking": draw(st.sampled_from(["message", "manual", "plan", "service"])),
        "history_format": draw(st.sampled_from(["timeline", "roles"])),
        "reply_mode": draw(st.sampled_from(["tools", "text"])),
        "limit": draw(SIZES),
    }


def _trigger(crowd: dict[str, Any]) -> Trigger:
    waking, payload = crowd["waking"], crowd["payload"]
    if waking == "plan":
        plan = PlanTrigger(id="plan_1", name="Daily", instruction=payload, scheduled_at=NOON)
        return Trigger(type="plan", plan=plan)
    if waking == "service":
        service = ServiceTrigger(id="svc_1", name="jira", payload=payload)
        return Trigger(type="service", service=service)
    last = len(crowd["messages"])
    by = crowd["roster"][0].ref
    if waking == "manual":
        return Trigger(type="manual", by=by)
    return Trigger(type="chat_message", seq=last, from_seq=last, by=by)


def _prompt(crowd: dict[str, Any]) -> PromptRecord:
    """The prompt of a world with all of that, read by hand, so that each example is quick."""
    world = World()
    agent = world.agent(
        system_prompt=crowd["system_prompt"],
        history_format=crowd["history_format"],
        reply_mode=crowd["reply_mode"],
        max_prompt_tokens=crowd["limit"],
    )
    trigger = _trigger(crowd)
    alone = trigger.type in {"plan", "service"}
    chats = [
        _chat(title, crowd["roster"], f"chat_{n}") for n, title in enumerate(crowd["titles"], 1)
    ]
    membership = Membership(tenant=TENANT, chat_id="chat_1", member=COACH)
    messages = [
        Message(
            tenant=TENANT,
            chat_id="chat_1",
            id=f"msg_{seq}",
            seq=seq,
            text=text,
            sender=crowd["roster"][0],
            client_id=str(seq),
            created_at=NOON,
        )
        for seq, text in enumerate(crowd["messages"], start=1)
    ]
    owned = {"tenant": TENANT, "agent_id": agent.id, "audience": OPEN, "created_at": NOON}
    daily: dict[str, Any] = {"instruction": "Ask", "cron": "0 9 * * *", "next_at": NOON}
    run = Run(
        tenant=TENANT,
        id=run_id_in(agent.id if alone else "chat_1", "1"),
        agent_id=agent.id,
        chat_id=None if alone else "chat_1",
        trigger=trigger,
        created_at=NOON,
    )
    empty = world.app.reader.read(run.model_copy(update={"chat_id": None}), None, None)
    chat = None if alone else chats[0]
    reading = replace(
        empty,
        chat=chat,
        member=None if alone else membership,
        items=(
            *empty.items,
            History(messages=() if alone else tuple(messages)),
            ShownTrigger(home=chat, message=messages[-1] if trigger.seq else None),
            replace(empty.of(YourChats), listed=tuple(OwnChat(each, membership) for each in chats)),
            Goals(
                tuple(
                    Goal(**owned, id=f"goal_{n}", text=text)
                    for n, text in enumerate(crowd["goals"])
                )
            ),
            Plans(
                tuple(
                    Plan(**owned, **daily, id=f"plan_{n}", name=name)
                    for n, name in enumerate(crowd["plans"])
                )
            ),
        )[::-1],
    )
    return world.app.prompt_builder.build(run, reading, EVERY_TOOL)


@settings(max_examples=examples(20))
@given(crowds())
def test_prompt_never_exceeds_its_token_limit(crowd: dict[str, Any]) -> None:
    prompt = _prompt(crowd)
    assert _billed(prompt, EVERY_TOOL) <= crowd["limit"] - RESERVED
    assert prompt.total_tokens == sum(section.tokens for section in prompt.sections)
    assert _as_sent(prompt) - prompt.total_tokens == tokens().count(prompt.nudge)
    names = [section.name for section in prompt.sections]
    for always in ("IDENTITY", "INSTRUCTIONS", "TRIGGER", "NOW"):
        assert always in names
    if prompt.turns is not None:
        assert len(prompt.turns) >= min(2, len(crowd["messages"]))
    elif HISTORY in names:
        [history] = [section.text for section in prompt.sections if section.name == HISTORY]
        last = len(crowd["messages"])
        for seq in range(max(last - 1, 1), last + 1):
            assert f"  [msg:{seq} " in history


BIG: dict[str, Any] = {
    "system_prompt": "Be kind. " * 20,
    "titles": ["Project Alpha"] * 20,
    "roster": [*(person(f"usr_{n}", f"Somebody {n}") for n in range(99)), COACH],
    "goals": ["Get somebody to run a little farther, " * 5] * 60,
    "plans": ["Ask how it went"] * 60,
    "messages": ["How far shall I run today? " * 9] * 50,
    "payload": "",
    "waking": "message",
    "history_format": "timeline",
    "reply_mode": "tools",
    "limit": 32_000,
}


def _tokens_of(prompt: PromptRecord) -> dict[str, int]:
    return {section.name: section.tokens for section in prompt.sections}


def _text_of(prompt: PromptRecord, name: str) -> str:
    return next(section.text for section in prompt.sections if section.name == name)


def test_lists_are_bounded_even_where_there_is_room() -> None:
    sizes = _tokens_of(_prompt(BIG | {"goals": ["word " * 200] * 100}))
    assert sizes["GOALS"] <= 32_000 / 5
    assert sizes["CHAT HISTORY"] > 3_000


def test_large_roster_names_twenty_members_and_counts_the_rest() -> None:
    line = _text_of(_prompt(BIG), "YOUR CHATS").split("\n")[2]
    assert line.endswith("Somebody 18, Somebody 19, and 79 more")


def test_lists_are_shortened_before_system_prompt_and_trigger() -> None:
    prompt = _prompt(BIG | {"limit": 9_000, "system_prompt": "Be kind. " * 200})
    assert _text_of(prompt, "IDENTITY").endswith("Be kind.")
    assert "characters cut]" not in _text_of(prompt, "TRIGGER")
    for name in ("YOUR CHATS", "PLANS", "GOALS"):
        assert " more" in _text_of(prompt, name).split("\n")[-1]


def test_too_long_system_prompt_is_cut_with_a_mark() -> None:
    prompt = _prompt(BIG | {"limit": 9_000, "system_prompt": "Be kind. " * 5_000})
    assert _text_of(prompt, "IDENTITY").endswith("characters cut]")
    assert "How far shall I run today?" in _text_of(prompt, HISTORY).splitlines()[-1]


def test_long_payload_takes_a_quarter_of_the_prompt_with_its_mark_outside_the_bars() -> None:
    payload = json.dumps({"n": "word " * 60_000, "said": "[9 characters cut]"})
    prompt = _prompt(BIG | {"waking": "service", "payload": payload})
    rows = _text_of(prompt, "TRIGGER").split("\n")
    position = rows.index("  payload: JSON")
    assert rows[position + 1] == "| {"
    assert rows[position + 2].startswith('|   "n": "word word')
    assert re.fullmatch(r"  \[[\d,]+ characters cut\]", rows[position + 3])
    [tokens] = [part.tokens for part in prompt.sections if part.name == "TRIGGER"]
    assert 5_000 < tokens < 8_000
