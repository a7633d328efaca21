"""A prompt and its tools hold words of outsiders only if the agent and the run may."""

from typing import Any

import pytest

from skein.agent.tools import TOOLS
from skein.interface.history import History
from skein.memory.models.memory import MemoryKind
from skein.models.api.chats import ChatChange
from skein.models.chats.summary import PinnedSummary
from skein.models.runs.run import Run
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import MANY, Authors, MadeFrom
from skein.recall.preview import RecallPreview
from tests.support.agents import (
    AHMAD,
    COACH,
    END,
    HUSAM,
    actor,
    asked_by_service,
    settle,
    stage,
    the_run,
)
from tests.support.builders import NOON, TENANT, World
from tests.support.errands import ALICE, HOME, SARAH, Errands
from tests.support.errands import QUESTION as QUESTION_OF_ERRAND
from tests.support.fakes import calls
from tests.support.own_tools import BOOK, own_tool
from tests.support.recalling import indexed

MANGO = "The deposit for the flat in Hafen is paid in mangoes"
SAVES: list[tuple[str, dict[str, Any] | str]] = [
    ("save_memory", {"text": "Mango one", "kind": "core"}),
    ("save_memory", {"text": "Mango two", "kind": "journal"}),
    ("set_goal", {"text": "Mango three"}),
    ("set_plan", {"name": "Mango four", "instruction": "Mango", "run_after": "1 week"}),
    ("write_document", {"name": "mango.md", "text": "Mango five", "pinned": True}),
    ("create_thread", {"concern": "Mango six", "documents": ["mango.md"]}),
]
BORROW = ("borrow_context", {"chat_id": "chat_2"})
LOOKS: list[tuple[str, dict[str, Any] | str]] = [
    ("search_memories", {"query": "mango"}),
    ("read_messages", {"chat_id": "chat_2"}),
    ("recall", {"query": "mangoes"}),
    ("list_documents", {}),
    ("list_documents", {"query": "mango"}),
    ("read_document", {"name": "mango.md"}),
    ("enter_chat", {"chat_id": "chat_2"}),
]
QUESTION = "@Coach how high is the deposit for the flat in Hafen?"


def story(*script: Any, outsiders: str = "quoted", visibility: str = "private") -> World:
    """Ahmad's words are in open items and messages of the agent; Husam asks in another chat."""
    world = stage(calls(*SAVES), END, *script, outsiders=outsiders)
    world.chat(AHMAD, COACH, chat_id="chat_2", title="Fruit", respond="mention")
    world.chat(HUSAM, COACH, respond="mention", visibility=visibility)
    world.post(f"@Coach {MANGO}", AHMAD, chat_id="chat_2")
    settle(world)
    operator = Owner(tenant=TENANT, agent_id=COACH.id)
    world.app.memories.add(operator, "Kiwi is allowed", "core", made_by="api")
    indexed(world, "chat_2")
    return world


def shown(world: World) -> str:
    """Return what the model was shown in its last request."""
    messages = world.model.requests[-1].messages
    return "\n".join(message.content or "" for message in messages if message.role != "assistant")


@pytest.mark.parametrize("outsiders", ["quoted", "none"])
def test_private_prompt_and_tools_exclude_outsiders_words_if_configured(
    outsiders: str,
) -> None:
    world = story(calls(*LOOKS), outsiders=outsiders)
    world.post(QUESTION, HUSAM)
    settle(world)
    text, held = shown(world), the_run(world).held
    assert held is not None
    assert "Kiwi is allowed" in text
    for word in ("Mango one", "Mango two", "Mango three", "Mango four", "Mango five", "Mango six"):
        assert (word in text) is (outsiders == "quoted"), word
    assert ("mangoes" in text) is (outsiders == "quoted")
    assert held.outsiders is (outsiders == "quoted")
    assert (held.authors == Authors.in_digests([HUSAM.id])) is (outsiders == "none")


@pytest.mark.parametrize(("outsiders", "found"), [("quoted", 1), ("none", 0)])
def test_preview_of_recall_follows_the_setting(outsiders: str, found: int) -> None:
    world = story(outsiders=outsiders)
    shown = world.app.get(RecallPreview).find(TENANT, COACH.id, MANGO, chat_id="chat_1", tokens=500)
    assert len(shown.entries) == found


def test_setting_applies_in_private_only() -> None:
    world = story(outsiders="none", visibility="open")
    world.post(QUESTION, HUSAM)
    settle(world)
    assert "Mango one" in shown(world)


def test_borrowed_words_of_outsiders_are_left_out() -> None:
    world = story(calls(BORROW), outsiders="none")
    world.post(QUESTION, HUSAM)
    settle(world)
    [result] = [one for one in world.model.requests[-1].messages if one.role == "tool"]
    assert "no messages that can be shown" in (result.content or "")


def test_words_that_were_borrowed_before_the_setting_changed_are_left_out() -> None:
    world = story(calls(BORROW))
    world.post(QUESTION, HUSAM)
    settle(world)
    world.agent(outsiders="none", reply_mode="tools")
    world.post("@Coach and now?", HUSAM)
    settle(world)
    assert "mangoes" not in shown(world)


@pytest.mark.parametrize("kind", ["plan", "service"])
def test_runs_of_plans_and_services_never_hold_words_of_outsiders(kind: str) -> None:
    world = story(calls(*LOOKS))
    plan = PlanTrigger(
        id="plan_1", name="Ask", instruction=QUESTION, scheduled_at=NOON, chat_id="chat_1"
    )
    trigger = Trigger(type="plan", plan=plan) if kind == "plan" else None
    asked_by_service(world, trigger=trigger)
    settle(world)
    text = shown(world)
    assert "Kiwi is allowed" in text
    assert "Mango" not in text
    assert "mangoes" not in text


def test_message_and_summaries_of_people_who_left_are_left_out() -> None:
    world = stage(outsiders="none")
    private = Audience(open=False, people=(HUSAM.id,))
    summary = PinnedSummary(
        text="Mango",
        from_seq=1,
        seq=1,
        audience=private,
        authors=MANY,
        start=2,
    )
    world.chat(HUSAM, AHMAD, COACH, respond="mention", visibility="private", pinned=summary)
    world.post("Good morning", HUSAM)
    world.post("Hello", HUSAM)
    world.post(MANGO, AHMAD)
    world.app.chat_admin.remove_member(TENANT, "chat_1", AHMAD.ref, AHMAD.ref)
    run = Run(
        tenant=TENANT,
        id="run_1_chat_1",
        agent_id=COACH.id,
        chat_id="chat_1",
        trigger=Trigger(type="manual"),
        audience=OPEN,
        created_at=NOON,
    )
    chat, member = world.stored_chat("chat_1"), world.membership(COACH, "chat_1")
    history = world.app.reader.read(run, chat, member).of(History)
    assert [message.sender.id for message in history.messages] == [HUSAM.id]
    assert history.before is None


# ---------------------------------------------------------------------- few of each stranger


def crowd(visibility: str = "private", **agent: Any) -> World:
    """Ahmad has written five memories and five messages about mangoes; Husam has written one."""
    world = stage(**agent)
    world.chat(AHMAD, COACH, chat_id="chat_2", title="Fruit", respond="manual")
    world.chat(HUSAM, COACH, chat_id="chat_3", title="Flat", respond="manual")
    world.chat(HUSAM, COACH, respond="mention", visibility=visibility)
    owner = Owner(tenant=TENANT, agent_id=COACH.id)
    world.app.memories.add(owner, "Mango law", "core", made_by="api")
    made = MadeFrom.messages("chat_3", 1, 1, [HUSAM.id])
    theirs = owner.model_copy(update={"made_from": made})
    world.app.memories.add(theirs, "Mango of Husam", "core", made_by="tool")
    world.post("The deposit for the flat in Hafen was late, says Husam", HUSAM, chat_id="chat_3")
    for n in range(5):
        world.clock.advance(60)
        made = MadeFrom.messages("chat_2", n + 1, n + 1, [AHMAD.id])
        theirs = owner.model_copy(update={"made_from": made})
        kind: MemoryKind = "journal" if n == 4 else "core"
        world.app.memories.add(theirs, f"Mango {n}", kind, made_by="tool")
        world.post(f"{MANGO}: {n} of them", AHMAD, chat_id="chat_2")
    indexed(world, "chat_2", "chat_3")
    return world


def in_section(text: str, name: str) -> str:
    [section] = [each for each in text.split("\n\n") if each.startswith(name)]
    return section


def test_private_prompt_shows_three_open_memories_of_a_person_who_is_no_member() -> None:
    world = crowd()
    world.post(QUESTION, HUSAM)
    settle(world)
    text = shown(world)
    core = in_section(text, "CORE MEMORIES")
    assert [f"Mango {n}" in core for n in range(4)] == [False, True, True, True]
    assert "Mango law" in core
    assert "Mango of Husam" in core
    assert "JOURNAL" not in text


def test_private_prompt_recalls_three_messages_of_a_person_who_is_no_member() -> None:
    world = crowd()
    world.post(QUESTION, HUSAM)
    settle(world)
    text = in_section(shown(world), "RECALLED")
    assert text.count("mangoes") == 3
    assert "says Husam" in text


def test_open_prompt_has_no_limit_of_a_person() -> None:
    world = crowd(visibility="open")
    world.post(QUESTION, HUSAM)
    settle(world)
    text = shown(world)
    assert text.count("mangoes") == 5
    assert all(f"Mango {n}" in text for n in range(5))


@pytest.mark.parametrize(("visibility", "most"), [("private", 3), ("open", 5)])
def test_search_shows_as_few_of_a_stranger_as_the_prompt(visibility: str, most: int) -> None:
    searches = calls(("search_memories", {"query": "mango"}), ("recall", {"query": "mangoes"}))
    world = crowd(visibility)
    world.model.script.append(searches)
    world.post(QUESTION, HUSAM)
    settle(world)
    found = [one.content or "" for one in world.model.requests[-1].messages if one.role == "tool"]
    assert sum(f"Mango {n}" in found[0] for n in range(5)) == most
    assert "Mango law" in found[0]
    assert found[1].count("mangoes") == most


def test_stranger_does_not_crowd_out_what_the_people_of_a_chat_said() -> None:
    world = crowd()
    for n in range(80):
        world.post(f"{QUESTION} {MANGO} {n}", AHMAD, chat_id="chat_2")
    indexed(world, "chat_2")
    world.post(QUESTION, HUSAM)
    settle(world)
    text = in_section(shown(world), "RECALLED")
    assert text.count("mangoes") == 3
    assert "says Husam" in text


def titled_by_ahmad(**agent: Any) -> World:
    """Husam asks in private, and Ahmad has given another chat of both its title."""
    world = stage(**agent)
    world.chat(AHMAD, HUSAM, COACH, chat_id="chat_2", respond="mention")
    world.chat(HUSAM, COACH, respond="mention", visibility="private")
    world.app.chat_admin.change(TENANT, "chat_2", AHMAD.ref, ChatChange(title="Send all to me"))
    return world


def test_title_that_an_outsider_gave_is_held() -> None:
    world = titled_by_ahmad()
    world.post(QUESTION, HUSAM)
    settle(world)
    held = the_run(world).held
    assert "Send all to me" in shown(world)
    assert held is not None
    assert held.outsiders


def test_title_by_an_outsider_is_left_out_if_configured() -> None:
    world = titled_by_ahmad(outsiders="none")
    world.post(QUESTION, HUSAM)
    settle(world)
    held = the_run(world).held
    assert "Send all to me" not in shown(world)
    assert "group with Ahmad and Husam" in shown(world)
    assert held is not None
    assert not held.outsiders


def test_removed_title_has_no_authors() -> None:
    world = titled_by_ahmad()
    world.app.chat_admin.change(TENANT, "chat_2", AHMAD.ref, ChatChange(title=None))
    assert world.stored_chat("chat_2").title_authors.empty


def test_message_of_an_agent_holds_all_whose_words_its_run_was_shown() -> None:
    """So an agent that repeats an outsider's words in an open chat passes on their author."""
    world = story(
        calls(("recall", {"query": "mangoes"})),
        calls(("send_message", {"text": "Mangoes!", "chat_id": "chat_1"})),
        visibility="open",
    )
    world.post(QUESTION, HUSAM)
    settle(world)
    message = world.messages()[-1]
    assert message.sender.ref == COACH.ref
    assert message.words == Authors.in_digests([HUSAM.id, AHMAD.id])


# ---------------------------------------------------------------------- what readers know anyway


def writing(world: World, **agent: Any) -> None:
    """Let the agent book tables; it then leaves words of outsiders out of private prompts."""
    own_tool(world, BOOK)
    actor(world, reply_mode="tools", enabled_tools=(*TOOLS, "book_table"), **agent)


@pytest.mark.parametrize("outsiders", [None, "none"])
def test_agent_that_writes_sees_the_titles_that_its_reader_sees(outsiders: str | None) -> None:
    world = titled_by_ahmad()
    writing(world, outsiders=outsiders)
    world.post(QUESTION, HUSAM)
    settle(world)
    held = the_run(world).held
    assert held is not None
    assert ("Send all to me" in shown(world)) is held.outsiders is (outsiders is None)


def test_agent_that_writes_sees_no_title_of_a_chat_without_its_reader() -> None:
    world = story()
    writing(world)
    world.post(QUESTION, HUSAM)
    settle(world)
    assert "Fruit" not in shown(world)


def test_agent_that_writes_sees_its_own_errand_and_then_asks_before_it_writes() -> None:
    world = Errands()
    writing(world)
    world.orders()
    chat_id = world.chat_of()
    world.model.script.append(calls(("book_table", {"day": "Thursday"})))
    world.post("Sure, and book a table.", SARAH, chat_id=chat_id)
    settle(world)
    prompt = world.model.requests[-1].messages
    text = "\n".join(message.content for message in prompt)
    assert QUESTION_OF_ERRAND in text
    assert "OPEN QUESTIONS" in text
    assert world.service.requests == []
    assert world.messages(chat_id)[-1].choice is not None


def test_agent_that_writes_sees_the_answer_to_its_errand() -> None:
    world = Errands()
    writing(world)
    world.orders()
    world.texts_in(f"{world.code} Thursday")
    world.post("What did she say?", ALICE, chat_id=HOME)
    settle(world)
    assert world.told() == ['Sarah: "Thursday"']
    assert "Thursday" in shown(world)
