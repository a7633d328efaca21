"""What an agent is shown, word for word: each section, and the whole prompt for each trigger."""

from typing import Any

import pytest

from skein.models.chats.chat import Chat
from skein.models.chats.summary import Summary
from skein.models.common.storage import Update
from skein.models.directory.agent import DEFAULT_TOOLS
from skein.models.runs.step import PromptRecord
from skein.models.visibility.ownership import Reach
from tests.support.builders import TENANT, World, bot, person
from tests.support.goldens import agrees
from tests.support.scene import ANALYST, MANNERS, ONE_TO_ONE, WAKING, Scene

BORROWER = {"enabled_tools": (*DEFAULT_TOOLS, "borrow_context")}
REACH = Reach(tenant=TENANT, agent_id=ANALYST.id)


def _section(prompt: PromptRecord, name: str) -> str:
    [text] = [section.text for section in prompt.readable().sections if section.name == name]
    return text


def _whole(prompt: PromptRecord) -> str:
    return "\n\n".join(f"===== {m.role}\n{m.content}" for m in prompt.messages())


# ---------------------------------------------------------------------- each section


@pytest.mark.parametrize("name", ["IDENTITY", "GOALS", "YOUR CHATS", "PARTICIPANTS", "NOW"])
def test_section_matches_golden_file(name: str) -> None:
    scene = Scene()
    prompt = scene.prompt(scene.asked_by_a_person())
    assert agrees(f"sections/{name.lower().replace(' ', '_')}", _section(prompt, name))


def test_plans_of_every_kind_say_when_they_come_and_how_long_that_is() -> None:
    scene = Scene()
    text = _section(scene.prompt(scene.asked_by_a_person()), "PLANS")
    assert agrees("sections/plans", text)


@pytest.mark.parametrize(("history", "reply"), MANNERS)
def test_instructions_follow_the_way_of_reading_and_of_answering(history: str, reply: str) -> None:
    scene = Scene({"history_format": history, "reply_mode": reply})
    text = _section(scene.prompt(scene.asked_by_a_person()), "INSTRUCTIONS")
    assert agrees(f"sections/instructions_{history}_{reply}", text)


@pytest.mark.parametrize("waking", WAKING)
def test_history_marks_new_messages_and_the_trigger(waking: str) -> None:
    scene = Scene()
    text = _section(scene.prompt(WAKING[waking](scene)), "CHAT HISTORY")
    assert agrees(f"sections/chat_history_{waking}", text)


@pytest.mark.parametrize("waking", WAKING)
def test_trigger_section_states_the_cause(waking: str) -> None:
    scene = Scene()
    text = _section(scene.prompt(WAKING[waking](scene)), "TRIGGER")
    assert agrees(f"sections/trigger_{waking}", text)


@pytest.mark.parametrize("waking", ["plan", "service"])
def test_trigger_section_of_run_without_chat_states_the_cause(waking: str) -> None:
    scene = Scene()
    run = {"plan": scene.woken_by_a_plan, "service": scene.woken_by_a_service}[waking]()
    prompt = scene.prompt(run, None)
    assert agrees(f"sections/trigger_{waking}", _section(prompt, "TRIGGER"))
    assert agrees(f"sections/active_runs_{waking}", _section(prompt, "ACTIVE RUNS"))
    assert agrees("sections/active_chat_none", _section(prompt, "ACTIVE CHAT"))


def test_active_runs_show_the_trigger_and_the_wait_of_another_run() -> None:
    scene = Scene()
    text = _section(scene.prompt(scene.asked_by_a_person()), "ACTIVE RUNS")
    assert agrees("sections/active_runs", text)


def test_other_active_conversations_section_matches_golden_file() -> None:
    scene = Scene()
    text = _section(scene.prompt(scene.asked_by_a_person()), "OTHER ACTIVE CONVERSATIONS")
    assert agrees("sections/other_active_conversations", text)


def test_agent_with_borrow_tool_gets_the_borrowing_hint() -> None:
    scene = Scene(BORROWER)
    text = _section(scene.prompt(scene.asked_by_a_person()), "OTHER ACTIVE CONVERSATIONS")
    assert agrees("sections/other_active_conversations_borrowing", text)


def test_borrowed_context_section_matches_golden_file() -> None:
    scene = Scene(BORROWER)
    scene.borrow()
    text = _section(scene.prompt(scene.asked_by_a_person()), "BORROWED CONTEXT")
    assert agrees("sections/borrowed_context", text)


def test_core_memories_and_journal_have_their_own_sections() -> None:
    scene = Scene()
    scene.remember()
    prompt = scene.prompt(scene.asked_by_a_person())
    for name in ("CORE MEMORIES", "JOURNAL"):
        assert agrees(f"sections/{name.lower().replace(' ', '_')}", _section(prompt, name))


def test_conversation_summary_section_matches_golden_file() -> None:
    scene = Scene()
    scene.pin()
    text = _section(scene.prompt(scene.asked_by_a_person()), "CONVERSATION SUMMARY")
    assert agrees("sections/conversation_summary", text)


@pytest.mark.parametrize("history", ["timeline", "roles"])
def test_direct_chat_after_a_gap_shows_its_session_and_a_summary(history: Any) -> None:
    world = World()
    world.agent(system_prompt="You coach runners.", history_format=history)
    private: dict[str, Any] = {"kind": "direct", "visibility": "private", "title": None}
    world.chat(person(), bot(), respond="manual", **private)
    world.post("How far shall I run?", person())
    world.post("Five kilometres.", bot())
    key = Chat.key_of(TENANT, "chat_1")
    summary = Summary(
        text='Husam asked how far to run: "five kilometres".',
        from_seq=1,
        seq=2,
        audience=world.stored_chat().readers,
        at=world.clock.now(),
    )
    world.table.write(Update(key, set={"summary": summary.model_dump(mode="json")}))
    world.clock.advance(1_800)
    world.post("And today?", person())
    prompt = world.app.preview.show(TENANT, "agt_a", "chat_1")
    assert agrees("sections/conversation", _section(prompt, "CONVERSATION"))
    whole = "\n\n".join(f"===== {one.name}\n{one.text}" for one in prompt.sections)
    assert agrees(f"prompts/session_{history}", whole)


def test_sections_without_content_are_absent() -> None:
    scene = Scene()
    scene.mark(ONE_TO_ONE, summary=None)
    names = [section.name for section in scene.prompt(scene.asked_by_a_person()).sections]
    absent = {
        "CORE MEMORIES",
        "JOURNAL",
        "OTHER ACTIVE CONVERSATIONS",
        "BORROWED CONTEXT",
        "CONVERSATION SUMMARY",
    }
    assert absent.isdisjoint(names)


def test_a_run_that_went_on_in_another_chat_is_shown_that_chat() -> None:
    scene = Scene()
    prompt = scene.prompt(scene.asked_by_a_person(), ONE_TO_ONE)
    assert agrees("sections/chat_history_elsewhere", _section(prompt, "CHAT HISTORY"))
    assert agrees("sections/active_chat_elsewhere", _section(prompt, "ACTIVE CHAT"))


# ---------------------------------------------------------------------- whole prompts


@pytest.mark.parametrize(("history", "reply"), MANNERS)
@pytest.mark.parametrize("waking", WAKING)
def test_whole_prompt_matches_golden_file(waking: str, history: str, reply: str) -> None:
    scene = Scene({"history_format": history, "reply_mode": reply})
    prompt = scene.prompt(WAKING[waking](scene))
    assert agrees(f"prompts/{waking}_{history}_{reply}", _whole(prompt))


@pytest.mark.parametrize("history", ["timeline", "roles"])
def test_whole_prompt_with_summary_and_borrowed_context_matches_golden_file(
    history: str,
) -> None:
    scene = Scene({"history_format": history, **BORROWER})
    scene.pin()
    scene.borrow()
    prompt = scene.prompt(scene.asked_by_a_person())
    assert agrees(f"prompts/elsewhere_{history}", _whole(prompt))


@pytest.mark.parametrize("history", ["timeline", "roles"])
def test_whole_prompt_with_memories_matches_golden_file(history: str) -> None:
    scene = Scene({"history_format": history})
    scene.remember()
    prompt = scene.prompt(scene.asked_by_a_person())
    assert agrees(f"prompts/remembering_{history}", _whole(prompt))


@pytest.mark.parametrize(("history", "reply"), MANNERS)
@pytest.mark.parametrize("waking", ["plan", "service"])
def test_prompt_without_chat_has_no_history_in_any_reply_mode(
    waking: str, history: str, reply: str
) -> None:
    scene = Scene({"history_format": history, "reply_mode": reply})
    run = {"plan": scene.woken_by_a_plan, "service": scene.woken_by_a_service}[waking]()
    prompt = scene.prompt(run, None)
    assert "CHAT HISTORY" not in [section.name for section in prompt.sections]
    assert agrees(f"prompts/{waking}", _whole(prompt))


@pytest.mark.parametrize("history", ["timeline", "roles"])
def test_prompt_of_plan_in_its_chat_shows_that_chat(history: str) -> None:
    scene = Scene({"history_format": history})
    prompt = scene.prompt(scene.woken_by_a_plan_in_its_chat())
    assert agrees(f"prompts/plan_in_chat_{history}", _whole(prompt))


@pytest.mark.parametrize("history", ["timeline", "roles"])
def test_whole_prompt_before_and_after_a_thread_switch_matches_golden_files(
    history: str,
) -> None:
    scene = Scene({"history_format": history})
    _, revenue = scene.work()
    run = scene.asked_by_a_person()
    assert agrees(f"prompts/thread_before_{history}", _whole(scene.prompt(run)))
    scene.world.app.threads.switch(REACH, revenue.id)
    assert agrees(f"prompts/thread_after_{history}", _whole(scene.prompt(run)))
