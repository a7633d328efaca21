"""Borrowing: another chat's last messages, shown once, to those who may know them."""

from typing import Any

import pytest

from skein.errors import ModelRejected
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Media
from skein.models.chats.summary import Summary
from skein.models.common.reason import Reason
from skein.models.common.storage import Page, Query, Update
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.provenance import NO_AUTHORS
from tests.support.agents import (
    AHMAD,
    ASKED_AGAIN,
    COACH,
    END,
    HUSAM,
    asked_by_service,
    results_of,
    settle,
    stage,
    stored,
    the_run,
)
from tests.support.builders import TENANT, World, bot, person
from tests.support.choices import ask
from tests.support.fakes import Script, calls, says

SARAH = person("usr_sarah", "Sarah")
SECTION = "BORROWED CONTEXT"
NOTE = "They are shown this once."
DIRECT = {"kind": "direct", "visibility": "private"}
PRIVATE = {"visibility": "private"}


def borrow(chat_id: str, **arguments: Any) -> Any:
    return calls(("borrow_context", {"chat_id": chat_id, **arguments}))


def _world(*script: Script, people: Any = (HUSAM,), **here: Any) -> World:
    """Husam and Coach in `chat_1`, and the silent `chat_2`, which is called Sales."""
    world = stage(*script)
    world.chat(*people, COACH, **here)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", title="Sales", respond="manual")
    return world


def _say(world: World, *texts: str, chat_id: str = "chat_2", **fields: Any) -> None:
    for text in texts:
        world.post(text, AHMAD, chat_id=chat_id, **fields)


def _ask(world: World, text: str = "What do they say?") -> None:
    world.post(text, HUSAM)
    settle(world)


def _staged(world: World, chat_id: str = "chat_1") -> BorrowedContext | None:
    item = world.table.get(BorrowedContext.key_of(TENANT, chat_id, COACH.id))
    return BorrowedContext.from_item(item) if item else None


def _result(world: World) -> tuple[str, str]:
    [borrowed] = [
        result
        for run in world.runs()
        for result in results_of(world, run)
        if result.name == "borrow_context"
    ]
    return borrowed.status, borrowed.content


def _section(world: World) -> str:
    """What the newest prompt holds of borrowed context."""
    parts = world.model.prompt.split("\n\n")
    return next((part for part in parts if part.startswith(SECTION)), "")


# ---------------------------------------------------------------------- what is staged


def test_the_last_ten_messages_are_staged_with_their_authors() -> None:
    world = _world(borrow("chat_2"))
    _say(world, *[f"Number {n}" for n in range(12)])
    world.post("I have them", COACH, chat_id="chat_2")
    _ask(world)
    staged = _staged(world)
    assert staged is not None
    assert (staged.source_chat_id, staged.source_title) == ("chat_2", "Sales")
    assert [(m.author, m.text) for m in staged.messages] == [
        *[("Ahmad", f"Number {n}") for n in range(3, 12)],
        ("Coach", "I have them"),
    ]
    assert _result(world) == (
        "done",
        (
            'nothing is shown yet: the 10 newest messages of "Sales" will be shown when you are '
            "next started here; to read them now, call read_messages"
        ),
    )


def test_authors_have_the_names_of_the_legend_and_outsiders_a_number_of_their_own() -> None:
    """Coach asked for the messages of a chat with three Anns, of whom two are members here."""
    anns = [person(f"usr_ann{n}", "Ann") for n in range(3)]
    world = stage(borrow("chat_2"))
    world.known(*anns)
    world.chat(HUSAM, anns[1], anns[0], COACH, respond="mention")
    world.chat(HUSAM, *anns, COACH, chat_id="chat_2", title="Sales", respond="manual")
    for n, ann in enumerate(anns):
        world.post(f"I am number {n}", ann, chat_id="chat_2")
    world.post("I am Coach", COACH, chat_id="chat_2")
    _ask(world, "@Coach what do they say?")
    staged = _staged(world)
    assert staged is not None
    assert [said.sender for said in staged.messages] == [*(ann.ref for ann in anns), COACH.ref]
    world.app.chat_admin.remove_member(TENANT, "chat_2", anns[2].ref, anns[2].ref)
    _ask(world, "@Coach and now?")
    assert _section(world).splitlines()[3:] == [
        '  Ann (2): "I am number 0"',
        '  Ann: "I am number 1"',
        '  Ann (3): "I am number 2"',
        '  You: "I am Coach"',
    ]


def test_borrowed_context_skips_keywords_and_notices() -> None:
    world = _world(borrow("chat_2"))
    _say(world, *[f"Number {n}" for n in range(12)])
    _say(world, *["STOP"] * 15, kind="keyword")
    world.post("You are unsubscribed.", COACH, chat_id="chat_2", kind="notice")
    _ask(world)
    staged = _staged(world)
    assert staged is not None
    assert [message.text for message in staged.messages] == [f"Number {n}" for n in range(2, 12)]


def test_an_agents_question_is_staged_and_skeins_own_is_not() -> None:
    world = _world(borrow("chat_2"))
    ask(world, chat_id="chat_2")
    ask(world, chat_id="chat_2", client_id="own", purpose="invitation")
    _ask(world)
    staged = _staged(world)
    assert staged is not None
    assert [message.text for message in staged.messages] == ["Shall I book it?\nYes / No"]


def test_two_thousand_characters_of_each_are_staged() -> None:
    world = _world(borrow("chat_2"))
    _say(world, "a" * 3_000, "b" * 2_000)
    _ask(world)
    staged = _staged(world)
    assert staged is not None
    assert [message.text for message in staged.messages] == ["a" * 2_000, "b" * 2_000]


def test_message_without_text_is_named_in_borrowed_context() -> None:
    world = _world(borrow("chat_2"))
    image = Media(url="https://media.example/1", content_type="image/png")
    _say(world, "", media=(image,))
    _ask(world)
    staged = _staged(world)
    assert staged is not None
    assert [message.text for message in staged.messages] == ['[attached: "image/png"]']


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("chat_id", "why"),
    [
        ("chat_9", "chat not found: you are not a member of a chat with this id"),
        ("no id at all", "chat not found: you are not a member of a chat with this id"),
        ("chat_1", "this is the active chat"),
        ("chat_3", "chat not found: you are not a member of a chat with this id"),
        ("chat_4", "that chat has no messages"),
        ("chat_5", "that chat is private"),
        ("chat_6", "this chat is discarded"),
        ("chat_7", "chat not found: you are not a member of a chat with this id"),
    ],
)
def test_borrow_context_without_permission_or_messages_is_refused(chat_id: str, why: str) -> None:
    world = _world(borrow(chat_id))
    world.chat(HUSAM, AHMAD, chat_id="chat_3")
    world.chat(HUSAM, COACH, chat_id="chat_4")
    world.chat(SARAH, COACH, chat_id="chat_5", respond="manual", **DIRECT)
    world.post("My secret", SARAH, chat_id="chat_5")
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_6", respond="manual")
    _say(world, "Hello", chat_id="chat_6")
    world.app.chat_admin.discard(TENANT, "chat_6", HUSAM.ref)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_7", respond="manual")
    _say(world, "Hello", chat_id="chat_7")
    world.app.chat_admin.remove_member(TENANT, "chat_7", HUSAM.ref, COACH.ref)
    _ask(world)
    status, content = _result(world)
    assert status in {"failed", "correctable"}
    assert content.startswith(f"error: {why}")
    assert _staged(world) is None
    assert the_run(world).status == "done"


def test_a_chat_in_which_only_keywords_were_sent_is_empty() -> None:
    world = _world(borrow("chat_2"))
    _say(world, "STOP", kind="keyword")
    _ask(world)
    assert _result(world)[1].startswith("error: that chat has no messages")


def test_borrow_context_checks_the_active_chat_instead_of_the_shown_one() -> None:
    """In a direct chat, what its person said elsewhere may be told; in an open one it may not."""
    enters = calls(("enter_chat", {"chat_id": "chat_2"}), ("borrow_context", {"chat_id": "chat_3"}))
    world = _world(enters, **DIRECT)
    world.chat(HUSAM, COACH, chat_id="chat_3", respond="manual", **DIRECT)
    world.post("My secret", HUSAM, chat_id="chat_3")
    _ask(world)
    assert _result(world)[1].startswith("error: that chat is private")
    assert _staged(world, "chat_2") is None


# ---------------------------------------------------------------------- once, and to whom


def _lent(*script: Script, **here: Any) -> World:
    """The agent has borrowed from Sales, and its run is over."""
    world = _world(borrow("chat_2", **ASKED_AGAIN), END, *script, **here)
    _say(world, "We sold ten")
    _ask(world)
    assert the_run(world).status == "done"
    return world


def test_next_turn_shows_borrowed_context_with_source_and_note() -> None:
    world = _lent()
    assert _section(world) == ""
    _ask(world, "And?")
    shown = _section(world)
    assert 'from "Sales", just now' in shown
    assert NOTE in shown
    assert shown.endswith('Ahmad: "We sold ten"')


def test_borrowed_context_is_removed_by_the_run_that_was_shown_it() -> None:
    world = _lent()
    assert _staged(world) is not None
    _ask(world, "And?")
    assert _staged(world) is None
    _ask(world, "And now?")
    assert _section(world) == ""


@pytest.mark.parametrize("steps", [0, 1])
def test_failed_run_leaves_borrowed_context_for_the_next_run(steps: int) -> None:
    world = _lent(*[calls("get_my_runs")] * steps, ModelRejected("no"))
    _ask(world, "And?")
    assert world.runs()[-1].status == "failed"
    assert SECTION in world.model.prompt
    _ask(world, "Once more")
    assert "We sold ten" in _section(world)
    assert _staged(world) is None


def test_stopped_run_leaves_borrowed_context_for_the_next_run() -> None:
    def stop(_: ModelRequest) -> Any:
        world.app.completion.cancel(
            world.runs()[-1], reason=Reason.STOPPED_BY_AGENT, error="by hand"
        )
        return END

    world = _lent(calls("get_my_runs"), stop)
    _ask(world, "And?")
    assert world.runs()[-1].status == "canceled"
    assert _staged(world) is not None


def test_second_borrow_replaces_the_first_and_stays_for_the_next_prompt() -> None:
    world = _lent(borrow("chat_3"), END)
    world.chat(HUSAM, COACH, chat_id="chat_3", title="Marketing", respond="manual")
    world.post("A new slogan", HUSAM, chat_id="chat_3")
    _ask(world, "And?")
    staged = _staged(world)
    assert staged is not None
    assert staged.source_chat_id == "chat_3"
    _ask(world, "And now?")
    assert "A new slogan" in _section(world)
    assert "We sold ten" not in _section(world)
    assert _staged(world) is None


def test_the_same_chat_borrowed_twice_is_two_stagings() -> None:
    world = _lent(borrow("chat_2"), END)
    first = _staged(world)
    _ask(world, "And?")
    second = _staged(world)
    assert first is not None
    assert second is not None
    assert first.staging != second.staging


def test_borrowed_context_ignores_later_changes_of_its_source() -> None:
    world = _lent()
    world.app.chat_admin.discard(TENANT, "chat_2", HUSAM.ref)
    _ask(world, "And?")
    assert "We sold ten" in _section(world)


def test_borrowed_context_is_read_again_when_it_is_shown() -> None:
    world = _lent()
    world.clock.advance(3_600)
    _say(world, *[f"We sold {n}" for n in range(11, 21)])
    _ask(world, "And?")
    shown = _section(world)
    assert "ten" not in shown
    assert all(f"We sold {n}" in shown for n in range(11, 21))
    assert "read just now" in shown
    assert "not shown" not in shown


def test_borrowed_context_shows_the_staged_copy_where_the_agent_is_no_member_any_more() -> None:
    world = _lent()
    world.clock.advance(3_600)
    _say(world, "We sold eleven", "We sold twelve")
    world.app.chat_admin.remove_member(TENANT, "chat_2", HUSAM.ref, COACH.ref)
    _ask(world, "And?")
    shown = _section(world)
    assert "We sold ten" in shown
    assert "eleven" not in shown
    assert "read 1 h ago. 2 newer ones are not shown" in shown


def test_borrowed_context_shows_no_newer_message_that_its_readers_may_not_see() -> None:
    world = _world(borrow("chat_2"), END, people=(HUSAM, AHMAD), **PRIVATE)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_3", respond="manual", **PRIVATE)
    world.model.script[0] = borrow("chat_3")
    world.post("For both", HUSAM, chat_id="chat_3")
    _ask(world)
    world.app.chat_admin.remove_member(TENANT, "chat_3", HUSAM.ref, AHMAD.ref)
    world.post("Now that he is gone", HUSAM, chat_id="chat_3")
    _ask(world, "And?")
    shown = _section(world)
    assert "For both" in shown
    assert "gone" not in shown
    assert "newer" not in shown


@pytest.mark.parametrize(("seq", "covered"), [(1, True), (0, False)])
def test_summary_of_a_borrowed_chat_is_shown_unless_the_messages_are_all_it_covers(
    seq: int, *, covered: bool
) -> None:
    world = _lent()
    said = {"text": "Ahmad reports what was sold.", "at": world.clock.now(), "authors": NO_AUTHORS}
    note = Summary(from_seq=seq, seq=1, audience=OPEN, **said)
    member = world.membership(COACH, "chat_2")
    world.table.write(Update(member.key, set={"summary": note.model_dump(mode="json")}))
    _ask(world, "And?")
    assert "We sold ten" in _section(world)
    assert ("Ahmad reports what was sold." in world.model.prompt) is not covered


def test_run_resumed_elsewhere_removes_the_borrowed_context() -> None:
    """It is shown the borrowed messages, asks in another chat, and goes on there."""
    world = _lent(says("How many?", chat_id="chat_2", wait=True), END, people=(HUSAM, AHMAD))
    _ask(world, "And?")
    assert world.runs()[-1].status == "waiting"
    assert _staged(world) is not None
    _say(world, "Ten")
    settle(world)
    assert world.runs()[-1].status == "done"
    assert _staged(world) is None


def test_borrowed_context_is_not_shown_to_other_agents() -> None:
    world = _world(borrow("chat_2"), END)
    _say(world, "We sold ten")
    _ask(world)
    world.agent("agt_b", "Analyst", reply_mode="tools", history_format="timeline")
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, bot("agt_b").ref)
    world.model.requests.clear()
    _ask(world, "And?")
    prompts = [request.messages[0].content for request in world.model.requests]
    by_name = {("Analyst" if 'name: "Analyst"' in p else "Coach"): SECTION in p for p in prompts}
    assert by_name == {"Coach": True, "Analyst": False}


@pytest.mark.parametrize("joins", [False, True])
def test_borrowed_context_checks_readers_again_when_shown(joins: bool) -> None:
    world = stage(borrow("chat_2"), END)
    world.chat(HUSAM, COACH, **PRIVATE)
    world.chat(HUSAM, COACH, chat_id="chat_2", title="Mine", respond="manual", **DIRECT)
    world.post("My secret", HUSAM, chat_id="chat_2")
    _ask(world)
    assert _staged(world) is not None
    if joins:
        world.known(AHMAD)
        world.add(AHMAD)
    _ask(world, "And?")
    assert ("My secret" in world.model.prompt) is not joins
    assert (_staged(world) is None) is not joins


def test_member_who_leaves_during_the_reading_is_no_reader() -> None:
    """What is said after the members were read is not borrowed: who heard it is not known."""
    world = stage(borrow("chat_2"), END)
    world.chat(HUSAM, AHMAD, COACH, **PRIVATE)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", respond="manual", **PRIVATE)
    world.post("For both", HUSAM, chat_id="chat_2")
    ask, gone = world.table.query, list[str]()

    def meanwhile(query: Query) -> Page:
        page = ask(query)
        if query.pk.endswith("chat_2") and not gone:
            gone.append(AHMAD.id)
            world.app.chat_admin.remove_member(TENANT, "chat_2", HUSAM.ref, AHMAD.ref)
            world.post("Now that he is gone", HUSAM, chat_id="chat_2")
        return page

    world.table.query = meanwhile  # type: ignore[method-assign]
    _ask(world)
    staged = _staged(world)
    assert staged is not None
    assert [message.text for message in staged.messages] == ["For both"]
    assert staged.audience == Audience(open=False, people=tuple(sorted((HUSAM.id, AHMAD.id))))


def test_borrowed_context_over_budget_omits_the_oldest_messages() -> None:
    world = stage(borrow("chat_2"), END, max_prompt_tokens=9_000)
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_2", title="Sales", respond="manual")
    _say(world, *[f"Number {n}: " + "what we sold and to whom. " * 60 for n in range(10)])
    _ask(world)
    _ask(world, "And?")
    shown = _section(world)
    assert "Number 9" in shown
    assert "Number 0" not in shown
    assert "more before that" in shown


def test_borrow_context_without_active_chat_is_correctable() -> None:
    world = _world(borrow("chat_2"))
    _say(world, "We sold ten")
    run = asked_by_service(world)
    settle(world)
    [result] = [one for one in results_of(world, stored(world, run)) if one.name != "end_run"]
    assert result.status == "correctable"
