"""Agents' notes and chats' records: what they say, when they are renewed, and for whom."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary
from skein.models.common.storage import Update
from skein.models.outbox.jobs import SummaryJob
from skein.models.visibility.audience import Audience
from skein.models.visibility.provenance import Authors
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.choices import ask

HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
COOLDOWN = 300


def _lines(*lines: str) -> str:
    return json.dumps({"lines": lines})


def _world(*summaries: Any, **chat: Any) -> World:
    world = World()
    world.agent(system_prompt="You coach runners.")
    world.chat(HUSAM, COACH, respond="manual", **chat)
    world.chat_elsewhere(HUSAM, COACH)
    world.model.summaries.extend(summaries)
    return world


def _talk(world: World, *texts: str) -> None:
    for text in texts:
        world.post(text, HUSAM)
    world.drain()


def _note(world: World) -> Summary | None:
    return world.membership(COACH).summary


def _agent_summaries_asked(world: World) -> list[str]:
    return [
        "\n".join(m.content for m in request.messages)
        for request in world.model.summary_requests
        if request.answer_schema is not None
        and "lines" in dict(request.answer_schema["properties"])  # type: ignore[call-overload]
    ]


# ---------------------------------------------------------------------- an agent's own two lines


def test_two_messages_make_a_note_in_the_agents_own_terms() -> None:
    world = _world(_lines("Planning the first run.", "Husam still owes a date."))
    _talk(world, "I want to run", "Which shoes?")
    note = _note(world)
    assert note is not None
    assert note.text == "Planning the first run.\nHusam still owes a date."
    assert (note.from_seq, note.seq, note.at) == (1, 2, NOON)
    assert note.authors == Authors.in_digests([HUSAM.id])
    [asked] = _agent_summaries_asked(world)
    assert "You coach runners." in asked
    assert "Project Alpha" in asked
    said = "- [Wed 2026-02-18 12:00] Husam:"
    assert f"{said} I want to run\n{said} Which shoes?" in asked
    assert world.model.summary_requests[0].model == "gpt-4.1-nano"


@pytest.mark.parametrize("purpose", ["question", "tool"])
def test_note_and_chat_summary_see_the_question_of_an_answer(purpose: str) -> None:
    world = _world()
    ask(world, purpose=purpose, question="Book a table for two?")
    _talk(world, "Yes", "Thanks")
    requests = world.model.summary_requests
    assert requests
    assert all("Book a table for two?" in one.messages[1].content for one in requests)


def test_one_message_makes_no_agent_summary() -> None:
    world = _world()
    _talk(world, "Hello")
    assert _note(world) is None
    assert world.model.summary_requests == []


def test_the_note_before_and_an_instruction_of_the_agents_own_are_in_the_question() -> None:
    world = _world(_lines("One.", "Two."))
    _talk(world, "Hello", "There")
    world.agent(summary_instruction="Only numbers.")
    world.clock.advance(COOLDOWN)
    _talk(world, "42")
    asked = _agent_summaries_asked(world)[-1]
    assert "Only numbers." in asked
    assert "| One.\n| Two." in asked


@pytest.mark.parametrize(("count", "missing"), [(10, 0), (11, 1), (25, 15), (70, 60)])
def test_question_says_how_many_messages_since_the_note_are_not_shown(
    count: int, missing: int
) -> None:
    world = _world(_lines("One."), _lines("Two."))
    _talk(world, "Hello", "There")
    world.clock.advance(COOLDOWN)
    for number in range(count):
        world.post(f"order {number}", HUSAM)
    world.run_ready()
    asked = _agent_summaries_asked(world)[-1]
    assert f"order {count - 10}" in asked
    said = re.findall(r"\((\d+) messages? (?:is|are) not shown before these", asked)
    assert said == ([str(missing)] if missing else [])


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (_lines("  One   thing. ", "Another\tthing."), "One thing.\nAnother thing."),
        ("One thing.\n\nAnother thing.\n", "One thing.\nAnother thing."),
        ('Sure!\n```json\n{"lines": ["One.", "Two."]}\n```', "One.\nTwo."),
        (_lines("One."), "One."),
        (_lines("One.", "Two.", "Three."), None),
        (_lines("One.", "  "), "One."),
        (_lines("...", "One."), "One."),
        (_lines("...", " "), None),
        (_lines(), None),
        ("One line only", None),
        ('{"lines": "One.\\nTwo."}', None),
        ("", None),
    ],
)
def test_agent_summary_answer_is_normalized_to_two_lines_or_refused(
    answer: str, kept: str | None
) -> None:
    world = _world(answer)
    _talk(world, "Hello", "There")
    note = _note(world)
    assert (note and note.text) == kept


def test_a_note_holds_at_most_500_characters() -> None:
    world = _world(_lines("a" * 900, "b" * 900))
    _talk(world, "Hello", "There")
    note = _note(world)
    assert note is not None
    assert len(note.text) <= 500
    assert [line[0] for line in note.text.splitlines()] == ["a", "b"]


# ---------------------------------------------------------------------- debounce


def test_a_hundred_messages_within_the_cooldown_cost_one_model_call_for_each_summary() -> None:
    world = _world()
    for n in range(100):
        world.post(f"message {n}", HUSAM)
        world.run_ready()
        world.clock.advance(2)
    assert len(_agent_summaries_asked(world)) == 1


def test_the_last_state_is_summarised_at_most_two_minutes_after_the_cooldown() -> None:
    world = _world()
    _talk(world, "Hello", "There")
    world.clock.advance(100)
    _talk(world, "The last word")
    state = world.membership(COACH).summary_state
    assert state is not None
    assert state.claimed_at is not None
    world.clock.set(state.claimed_at + timedelta(seconds=COOLDOWN))
    for _ in range(2):
        world.clock.advance(60)
        world.tick()
        world.run_ready()
    note = _note(world)
    assert note is not None
    assert note.seq == 3
    assert "The last word" in _agent_summaries_asked(world)[-1]
    world.clock.advance(3600)
    world.tick()
    world.drain()
    assert world.tick() == 0


def test_a_note_that_covers_everything_is_not_made_again() -> None:
    world = _world()
    _talk(world, "Hello", "There")
    world.clock.advance(10 * COOLDOWN)
    world.renew(SummaryJob(tenant=TENANT, chat_id="chat_1", agent_id="agt_a"))
    assert len(_agent_summaries_asked(world)) == 1


def test_a_failure_keeps_the_old_note_and_is_retried_after_the_cooldown() -> None:
    world = _world(_lines("Old.", "Note."), Unavailable("503"), _lines("New.", "Note."))
    _talk(world, "Hello", "There")
    world.clock.advance(COOLDOWN)
    _talk(world, "More")
    note = _note(world)
    assert note is not None
    assert note.text == "Old.\nNote."
    assert world.metrics.counts["SummariesFailed"] == 1
    for _ in range(12):
        world.clock.advance(60)
        world.tick()
        world.run_ready()
    renewed = _note(world)
    assert renewed is not None
    assert renewed.text == "New.\nNote."


def test_a_model_that_never_gives_a_fit_answer_is_asked_less_and_less_often() -> None:
    world = _world(*["unfit"] * 1_000)
    _talk(world, "Hello", "There")
    for _ in range(24 * 4):
        world.clock.advance(900)
        world.tick()
        world.run_ready()
    assert len(_agent_summaries_asked(world)) < 15


def test_keywords_do_not_count_towards_the_first_agent_summary() -> None:
    world = _world()
    world.post("STOP", HUSAM, kind="keyword")
    world.post("START", HUSAM, kind="keyword")
    world.post("Hello", HUSAM)
    world.drain()
    for _ in range(20):
        world.clock.advance(60)
        world.tick()
        world.run_ready()
    assert world.model.summary_requests == []


# ---------------------------------------------------------------------- audience


def test_agent_summary_of_private_chat_is_limited_to_its_audience() -> None:
    world = _world(visibility="private", kind="direct")
    _talk(world, "A secret", "Really")
    note = _note(world)
    assert note is not None
    assert note.audience == Audience(open=False, people=("usr_husam",))


def test_note_keeps_the_title_of_when_it_was_made() -> None:
    world = _world(visibility="private", title="Before")
    _talk(world, "A secret", "Really")
    world.table.write(Update(Chat.key_of(TENANT, "chat_1"), {"title": "After"}))
    note = _note(world)
    assert note is not None
    assert note.title == "Before"


def test_agent_summary_of_a_private_chat_restarts_when_a_member_joins() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual", visibility="private")
    world.chat_elsewhere(HUSAM, COACH)
    world.model.summaries.append(_lines("The secret is 7.", "Nobody else knows."))
    _talk(world, "The secret is 7", "Tell nobody")
    world.known(AHMAD)
    world.add(AHMAD)
    world.clock.advance(COOLDOWN)
    _talk(world, "Welcome Ahmad", "Hello all")
    asked = _agent_summaries_asked(world)[-1]
    assert "secret" not in asked
    note = _note(world)
    assert note is not None
    assert note.from_seq == 3
    assert note.audience.people == ("usr_ahmad", "usr_husam")


# ---------------------------------------------------------------------- the shared record


def _talk_long(world: World, count: int, *, start: int = 0) -> None:
    for n in range(start, start + count):
        world.post(f"fact {n}", HUSAM)
        world.run_ready()


def test_after_ten_messages_a_chat_has_a_record_that_the_api_shows() -> None:
    world = _world()
    _talk_long(world, 9)
    assert world.stored_chat().summary is None
    world.model.summaries.extend(['{"summary": "Husam gave ten facts."}'] * 3)
    _talk_long(world, 1, start=9)
    record = world.stored_chat().summary
    assert record is not None
    assert (record.text, record.from_seq, record.seq) == ("Husam gave ten facts.", 1, 10)


def test_a_record_is_made_from_the_one_before_and_the_raw_messages_since() -> None:
    world = _world()
    _talk_long(world, 10)
    world.clock.advance(COOLDOWN)
    _talk(world, *[f"fact {n}" for n in range(10, 15)])
    asked = world.model.summary_requests[-1].messages
    everything = "\n".join(message.content for message in asked)
    assert "They have spoken." in everything
    assert "Husam: fact 10\n- [Wed 2026-02-18 12:05] Husam: fact 11" in everything
    assert "fact 9" not in everything


def test_ingest_and_a_record_that_is_renewed_do_not_lose_each_others_writes() -> None:
    world = _world()
    _talk_long(world, 9)

    def meanwhile(_: Any) -> str:
        world.post("one more", HUSAM)
        return '{"summary": "Ten facts."}'

    world.post("fact 9", HUSAM)
    world.model.summaries.extend([meanwhile, meanwhile])
    world.run_ready()
    chat = world.stored_chat()
    assert chat.summary is not None
    assert chat.last_seq == len(world.messages())
    assert chat.upkeep_at is not None


def test_a_membership_without_a_note_reads_as_before() -> None:
    world = _world()
    item = world.table.get(world.membership(COACH).key)
    assert item is not None
    assert Membership.from_item(item).summary is None
    world.table.write(Update(world.membership(COACH).key, set={"summary_state": None}))
    assert world.membership(COACH).summary_state is None
