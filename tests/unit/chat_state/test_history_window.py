"""The window of a prompt and the summary before it: no message is in neither, and both stay put."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skein.errors import Unavailable
from skein.models.chats.chat import Chat
from skein.models.chats.summary import Summary
from skein.models.common.storage import Update
from skein.models.runs.completion import ModelRequest
from skein.models.runs.step import HISTORY
from skein.models.visibility.audience import OPEN
from skein.services.chat_state.history_window import MAX_WINDOWS, pinned, shown_from
from skein.settings import Settings
from tests.support import timeline_parser as grammar
from tests.support.builders import NOON, TENANT, World, bot, person

HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
WINDOW = 20
SUMMARY = "CONVERSATION SUMMARY"
ROUNDS = 24  # questions and answers of a long conversation
ANSWER_MINUTES = 4  # between two questions: a cooldown is over at every other one


def _facts(request: ModelRequest) -> str:
    """A record that names every fact of the record before it and of the messages since."""
    words = "\n".join(message.content for message in request.messages).split()
    facts = sorted({word for word in words if word.startswith("fact-")})
    return json.dumps({"summary": " ".join(facts) or "Nothing.", "lines": ["One.", "Two."]})


def _world(**settings: Any) -> World:
    world = World(Settings(message_history_limit=WINDOW, **settings))
    world.agent(history_format="timeline")
    world.chat(HUSAM, COACH)
    return world


def _talk(world: World, n: int) -> None:
    """A question with a fact, and an answer for which no model is asked."""
    for text, sender in ((f"fact-{n:03d} is true", HUSAM), ("Hello!", COACH)):
        world.post(text, sender)
    world.run_ready()


def _answers(world: World, respond: str) -> None:
    """Let the agent answer each message ("every"), or none ("manual")."""
    world.table.write(Update(world.stored_chat().key, set={"respond": respond}))


def _sections(world: World) -> dict[str, str]:
    """The sections of the newest run's prompt."""
    newest = max(world.runs(), key=lambda run: run.id)
    prompt = world.app.run_views.get(TENANT, newest.id).prompt
    assert prompt is not None
    return {section.name: section.text for section in prompt.sections}


def _prompt(world: World) -> str:
    return "\n\n".join(message.content for message in world.model.requests[-1].messages)


def _pass(world: World, minutes: int) -> None:
    """Let time pass, at the end of which the tick looks what is due."""
    world.clock.advance(60 * minutes)
    world.tick()
    world.drain()


def _common(one: str, other: str) -> int:
    """How many characters two texts begin alike."""
    alike = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        alike += 1
    return alike


# ---------------------------------------------------------------------- the rule


@given(
    st.sampled_from(["group", "direct"]),
    st.integers(2, 12),
    st.lists(st.integers(0, 15) | st.none(), min_size=1, max_size=150),
)
def test_every_message_is_in_window_or_summary_while_the_summary_keeps_up(
    kind: Any, window: int, lags: list[int | None]
) -> None:
    """After each message a summary is made that lacks so many of the newest, or none is."""
    settings = Settings(message_history_limit=window)
    fields = {"tenant": TENANT, "id": "chat_1", "visibility": "open", "activity_hour": NOON}
    chat = Chat(kind=kind, created_at=NOON, **fields)
    start = 1
    for lag in lags:
        chat = chat.model_copy(update={"last_seq": chat.last_seq + 1})
        chat = chat.model_copy(update={"pinned": pinned(chat, chat.summary, settings)})
        if lag is not None and (seq := chat.last_seq - lag) > 0:
            record = Summary(text=f"to {seq}", from_seq=1, seq=seq, audience=OPEN, at=NOON)
            pin = pinned(chat, record, settings)
            chat = chat.model_copy(update={"summary": record, "pinned": pin})
        before, first = chat.pinned, shown_from(chat, chat.pinned, settings)
        assert start <= first <= chat.last_seq
        held = chat.last_seq - first + 1
        assert held <= MAX_WINDOWS * window
        late = chat.last_seq - (before.start if before else 1) >= MAX_WINDOWS * window
        if not late:
            assert first - 1 <= (before.seq if before else 0)
        start = first


# ---------------------------------------------------------------------- a long conversation


@pytest.mark.check
def test_long_conversation_keeps_every_fact_and_a_stable_prompt_prefix() -> None:
    world = World(Settings(recall_tokens=0, message_history_limit=WINDOW))
    world.agent(history_format="timeline", system_prompt="You coach runners. " * 20)
    world.chat(HUSAM, COACH)
    for n in range(8):
        world.chat(HUSAM, COACH, chat_id=f"chat_x{n}", title=f"Other {n}")
    world.model.summaries.extend([_facts] * 500)
    prompts, shown = [], []
    for n in range(ROUNDS):
        world.post(f"fact-{n:03d} is true. {'How far shall I run today? ' * 6}", HUSAM)
        world.drain()
        sections = _sections(world)
        _, entries = grammar.timeline(sections[HISTORY])
        before = sections.get(SUMMARY, "")
        told = " ".join([before, *(entry.text for entry in entries)])
        assert [fact for fact in range(n + 1) if f"fact-{fact:03d}" not in told] == []
        prompts.append(_prompt(world))
        shown.append((before, entries[0].seq))
        _pass(world, ANSWER_MINUTES)
    assert world.stored_chat().last_seq == 2 * ROUNDS
    # The summary and the window move together, and seldom: by blocks, not by messages.
    block = WINDOW // 2
    moves = [(one, other) for one, other in pairwise(shown) if one != other]
    assert 1 < len(moves) <= 2 * ROUNDS // block
    assert all(after[1] - before[1] >= block for before, after in moves)
    alike = [_common(one, other) / len(one) for one, other in pairwise(prompts)]
    stays = [share for share, (a, b) in zip(alike, pairwise(shown), strict=True) if a == b]
    assert min(stays[10:]) >= 0.8


def test_prompt_shows_the_pinned_summary_while_the_chat_summary_is_renewed() -> None:
    world = _world()
    world.model.summaries.extend([_facts] * 500)
    _answers(world, "manual")
    pins, records = [], []
    for n in range(26):
        _talk(world, n)
        chat = world.stored_chat()
        pins.append(chat.pinned.text if chat.pinned else None)
        records.append(chat.summary.text if chat.summary else None)
        _pass(world, ANSWER_MINUTES)
    assert len(set(records)) > 2 * len(set(pins))


@pytest.mark.check
def test_history_window_without_summary_waits_and_then_moves_on() -> None:
    world = _world()
    world.model.summaries.extend([Unavailable("503")] * 500)
    sizes = []
    for n in range(28):
        world.post(f"message {n}", HUSAM)
        world.drain()
        sections = _sections(world)
        assert SUMMARY not in sections
        _, entries = grammar.timeline(sections[HISTORY])
        sizes.append(len(entries))
    assert sizes[:20] == list(range(1, 41, 2))[:20]
    assert max(sizes) <= MAX_WINDOWS * WINDOW
    assert min(sizes[20:]) >= WINDOW


def test_summary_before_join_is_hidden_from_new_member_of_private_chat() -> None:
    world = World(Settings(message_history_limit=WINDOW))
    world.agent(history_format="timeline")
    world.chat(HUSAM, COACH, visibility="private")
    world.model.summaries.extend([_facts] * 50)
    _answers(world, "manual")
    for n in range(24):
        _talk(world, n)
        _pass(world, 1)
    _answers(world, "every")
    world.post("fact-024 is true", HUSAM)
    world.drain()
    assert "fact-000" in _sections(world)[SUMMARY]
    world.known(AHMAD)
    world.add(AHMAD)
    world.post("Hello Ahmad", HUSAM)
    world.drain()
    assert SUMMARY not in _sections(world)
    assert "fact-000" not in _prompt(world)


def test_a_pin_that_is_taken_away_comes_back_with_the_next_move() -> None:
    world = _world()
    world.model.summaries.extend([_facts] * 50)
    _answers(world, "manual")
    for n in range(15):
        _talk(world, n)
        world.clock.advance(301)
    _answers(world, "every")
    chat = world.stored_chat()
    world.table.write(Update(chat.key, set={"pinned": None}))
    for n in range(15, 20):
        world.post(f"fact-{n:03d}", HUSAM)
        world.drain()
    assert "fact-000" in _sections(world)[SUMMARY]
