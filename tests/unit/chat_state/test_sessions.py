"""Sessions of direct chats: where they begin, what prompts hold, how a reset is answered."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.models.api.directory import AgentChange, LineChange
from skein.models.chats.chat import Chat, LastMessage, Media, Message
from skein.models.chats.session import Session
from skein.models.common.address import phone_address
from skein.models.config.overrides import ChatOverridesChange, TenantOverridesChange
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import SummaryJob
from skein.models.runs.completion import ModelRequest
from skein.models.runs.step import FIXED_ANSWER
from skein.prompts import render
from skein.services.chat_state.sessions import CLOSING, session_with
from skein.services.config.resolution import effective_in
from skein.settings import Settings
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person, statuses
from tests.support.examples import examples
from tests.support.fakes import MeanwhileTable, calls, says
from tests.support.routes import sms_route

HUSAM, SARAH, COACH = person(), person("usr_sarah", "Sarah"), bot()
GAP = 30 * 60
SMS = sms_route(line=LINE, phone=PHONE)
ANSWER = render("session_reset")
SUMMARY, SESSION = "CONVERSATION SUMMARY", "CONVERSATION"


def _facts(request: ModelRequest) -> str:
    """A summary that names every fact of the question."""
    words = "\n".join(message.content for message in request.messages).replace(".", " ").split()
    facts = sorted({word for word in words if word.startswith("fact-")})
    return json.dumps({"summary": " ".join(facts) or "Nothing.", "lines": ["One.", "Two."]})


def _world(
    settings: Settings | None = None, *, agent: dict[str, Any] | None = None, **chat: Any
) -> World:
    """A direct chat on a line, in which nothing is answered unless a test says so."""
    world = World(settings or Settings())
    world.model.summaries.extend([_facts] * 200)
    world.agent(**agent or {})
    world.line()
    fields: dict[str, Any] = {
        "kind": "direct",
        "visibility": "private",
        "line": phone_address(LINE),
        "respond": "manual",
    }
    world.chat(HUSAM, COACH, **(fields | chat))
    return world


def _session(world: World) -> Session:
    session = world.stored_chat().session
    assert session is not None
    return session


def _shown(world: World) -> dict[str, str]:
    """The sections of what the agent would be shown now."""
    prompt = world.app.preview.show(TENANT, COACH.id, "chat_1")
    return {section.name: section.text for section in prompt.sections}


def _quiet(world: World, seconds: float) -> None:
    """Let time pass, a minute at a time, and all be done that falls due meanwhile."""
    end = world.clock.now() + timedelta(seconds=seconds)
    while (left := (end - world.clock.now()).total_seconds()) > 0:
        world.clock.advance(min(left, 60))
        world.tick()
        world.run_ready()


# ---------------------------------------------------------------------- a gap


@pytest.mark.parametrize("writer", [HUSAM, COACH])
@pytest.mark.parametrize(("seconds", "begins"), [(GAP - 1, False), (GAP, True), (GAP + 1, True)])
def test_silence_of_half_an_hour_begins_a_session_and_a_second_less_does_not(
    writer: Any, seconds: int, begins: bool
) -> None:
    world = _world()
    world.post("Hello", HUSAM)
    first = _session(world)
    world.clock.advance(seconds)
    world.post("Again", writer)
    second = _session(world)
    assert (first.first_seq, first.started_at, first.before_at) == (1, NOON, None)
    if not begins:
        assert second == first
        return
    assert second.id != first.id
    assert second.id.startswith("ses_")
    assert (second.first_seq, second.before_at, second.reset) == (2, NOON, False)
    assert second.started_at == NOON + timedelta(seconds=seconds)


@given(st.lists(st.integers(0, 2 * GAP), max_size=12), st.integers(1, 60))
def test_a_session_begins_at_each_gap_and_nowhere_else(pauses: list[int], minutes: int) -> None:
    world = _world(Settings(conversation_gap_minutes=minutes))
    world.post("0", HUSAM)
    begun = [1]
    for n, pause in enumerate(pauses, 2):
        world.clock.advance(pause)
        world.post(str(n), HUSAM)
        if pause >= minutes * 60:
            begun.append(n)
        assert _session(world).first_seq == begun[-1]


def test_changed_gap_of_agent_line_or_tenant_applies_to_the_next_message() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    app = world.app
    says_so: list[tuple[int, Callable[[ChatOverridesChange], object]]] = [
        (10, lambda said: app.tenant_settings.change(TENANT, _of_tenant(said))),
        (20, lambda said: app.lines.change(TENANT, LINE, LineChange(settings=said))),
        (15, lambda said: app.agents.change(TENANT, COACH.id, AgentChange(settings=said))),
    ]
    for minutes, say in says_so:
        say(ChatOverridesChange(conversation_gap_minutes=minutes))
        for seconds, begins in [(minutes * 60 - 1, False), (minutes * 60, True)]:
            before = _session(world)
            world.clock.advance(seconds)
            world.post("Again", HUSAM)
            assert (_session(world) != before) is begins


def _of_tenant(said: ChatOverridesChange) -> TenantOverridesChange:
    return TenantOverridesChange.model_validate(said.values)


def test_sms_applies_changed_settings_of_the_line() -> None:
    world = World()
    world.agent()
    world.line()
    _text(world, "Hello", "SM1")
    said = ChatOverridesChange(conversation_gap_minutes=10)
    world.app.lines.change(TENANT, LINE, LineChange(settings=said))
    world.clock.advance(600)
    chat_id = _text(world, "Again", "SM2")
    chat = world.stored_chat(chat_id)
    assert chat.session is not None
    assert chat.session.first_seq == 2
    assert chat.overrides is not None
    assert chat.overrides == {"conversation_gap_minutes": 10}
    world.app.lines.change(
        TENANT, LINE, LineChange(settings=ChatOverridesChange(conversation_gap_minutes=None))
    )
    world.clock.advance(600)
    _text(world, "And again", "SM3")
    chat = world.stored_chat(chat_id)
    assert (chat.overrides, chat.session and chat.session.first_seq) == (None, 2)


def _text(world: World, body: str, sid: str) -> str:
    sms = {"account_sid": "AC1", "message_sid": sid, "sender": PHONE, "recipient": LINE}
    posted = world.app.sms_receiver.receive(InboundSms.model_validate(sms | {"body": body}))
    assert posted is not None
    return posted.message.chat_id


def test_a_group_has_no_sessions() -> None:
    world = _world(kind="group", visibility="open", line=None)
    world.post("Hello", HUSAM)
    world.clock.advance(10 * GAP)
    world.post("reset", HUSAM)
    assert world.stored_chat().session is None
    assert [message.resets for message in world.messages()] == [False, False]
    assert SESSION not in _shown(world)


def test_two_messages_that_cross_at_a_gap_begin_one_session() -> None:
    table = MeanwhileTable()
    world = World(overrides={"table": table})
    world.table = table
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private", respond="manual")
    world.post("Hello", HUSAM)
    world.clock.advance(GAP)
    table.before = ("MSG#", lambda: world.post("I was faster", HUSAM))
    world.post("I was slower", HUSAM)
    assert world.texts() == ["Hello", "I was faster", "I was slower"]
    assert (_session(world).first_seq, _session(world).before_at) == (2, NOON)


# ---------------------------------------------------------------------- a wish to start anew


@pytest.mark.parametrize(
    ("text", "resets"),
    [
        ("start over", True),
        ("New Topic", True),
        ("RESET", True),
        ("  Reset. ", True),
        ("start\n over!!", True),
        ("new topic \u2026", True),
        ("reset my password", False),
        ("please reset", False),
        ("resets", False),
        ("\u201creset\u201d", False),
        ("...", False),
    ],
)
def test_a_phrase_resets_as_the_whole_message_in_any_case(text: str, resets: bool) -> None:
    world = _world()
    world.post("Hello", HUSAM)
    before = _session(world)
    world.post(text, HUSAM)
    assert world.messages()[-1].resets is resets
    after = _session(world)
    if resets:
        assert (after.first_seq, after.reset, after.reset_seq) == (2, True, 2)
        assert after.before_at == NOON
    else:
        assert after == before


@given(
    st.sampled_from(["start over", "new topic", "reset"]),
    st.text(alphabet=" \t\n", max_size=3),
    st.text(alphabet=CLOSING, max_size=5),
    st.data(),
)
def test_reset_phrase_ignores_case_space_and_closing_marks(
    phrase: str, before: str, after: str, data: st.DataObject
) -> None:
    upper = data.draw(st.lists(st.booleans(), min_size=len(phrase), max_size=len(phrase)))
    text = "".join(one.upper() if up else one for one, up in zip(phrase, upper, strict=True))
    world = _world()
    world.post(f"{before}{text}{after}", HUSAM)
    assert _session(world).reset


def test_reset_phrase_of_an_agent_does_not_reset() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.post("reset", COACH)
    assert _session(world).first_seq == 1


def test_an_agent_may_have_phrases_of_its_own_or_none() -> None:
    world = _world()
    for phrases, word, resets in [(("Da capo",), "da capo", True), ((), "reset", False)]:
        said = ChatOverridesChange(context_reset_phrases=phrases)
        world.app.agents.change(TENANT, COACH.id, AgentChange(settings=said))
        world.post(word, HUSAM)
        assert world.messages()[-1].resets is resets


@pytest.mark.parametrize("text", ["", "?", " ... "])
def test_blank_reset_phrase_is_ignored(text: str) -> None:
    """A photo has none, and a phrase of closing marks alone would be any of these."""
    world = _world()
    said = ChatOverridesChange(context_reset_phrases=("...",))
    world.app.agents.change(TENANT, COACH.id, AgentChange(settings=said))
    photo = Media(url="https://api.twilio.com/photo", content_type="image/jpeg")
    world.post(text, HUSAM, media=(photo,))
    assert not world.messages()[-1].resets


@pytest.mark.parametrize("mode", ["text", "tools"])
def test_a_reset_is_answered_without_the_model_once(mode: Any) -> None:
    world = _world(agent={"reply_mode": mode}, respond="every", route=SMS)
    world.model.default = says("Hello!") if mode == "tools" else "Hello!"
    world.model.script.extend([says("Hi!"), calls("end_run")] if mode == "tools" else ["Hi!"])
    world.post("Hello", HUSAM, route=SMS)
    world.drain()
    asked = len(world.model.requests)
    world.post("start over", HUSAM, route=SMS)
    world.drain()
    assert len(world.model.requests) == asked
    assert world.texts() == ["Hello", "Hi!", "start over", ANSWER]
    assert world.sms.bodies == ["Hi!", ANSWER]
    run = world.runs()[-1]
    assert (run.status, run.usage.input_tokens, run.shown and run.shown.seq) == ("done", 0, 3)
    assert world.membership(COACH).seen_seq == 3
    assert world.messages()[-1].run_id == run.id


def test_an_operator_sees_in_the_run_how_a_reset_was_answered() -> None:
    world = _world(respond="every")
    world.post("reset", HUSAM)
    world.drain()
    view = world.app.run_views.get(TENANT, world.runs()[-1].id)
    assert [(step.model, step.text) for step in view.steps] == [(FIXED_ANSWER, ANSWER)]
    assert view.prompt is not None
    assert (view.prompt.sections, view.prompt.marks) == ((), ("answered_without_model",))


def test_a_question_right_behind_a_reset_is_answered_by_the_model_and_nothing_else() -> None:
    world = _world(respond="every")
    world.post("My knee hurts", HUSAM)
    world.drain()
    world.post("reset", HUSAM)
    world.post("What about tennis?", HUSAM)
    world.drain()
    assert world.texts()[-2:] == ["What about tennis?", "Hello!"]
    prompt = "".join(message.content for message in world.model.requests[-1].messages)
    assert "tennis" in prompt
    assert "knee" not in prompt


def test_a_reset_while_the_agent_works_is_answered_after_that() -> None:
    world = _world(respond="every")

    def meanwhile(_request: ModelRequest) -> str:
        world.post("reset", HUSAM)
        return "Here you are."

    world.model.script.append(meanwhile)
    world.post("Tell me", HUSAM)
    world.drain()
    assert world.texts() == ["Tell me", "reset", "Here you are.", ANSWER]
    assert statuses(world.runs()) == ["done", "done"]


def test_a_reset_instead_of_a_reply_ends_the_run_that_waited() -> None:
    world = _world(agent={"reply_mode": "tools"}, respond="every")
    world.model.script.append(says("Which one?", wait=True))
    world.post("Book a table", HUSAM)
    world.clock.advance(5)
    world.run_ready()
    assert statuses(world.runs()) == ["waiting"]
    asked = len(world.model.requests)
    world.post("reset", HUSAM)
    world.drain()
    assert world.texts() == ["Book a table", "Which one?", "reset", ANSWER]
    assert statuses(world.runs()) == ["done"]
    assert len(world.model.requests) == asked


# ---------------------------------------------------------------------- what prompts hold


def test_prompt_after_a_gap_has_the_session_and_a_summary_of_earlier_messages() -> None:
    world = _world()
    for n in range(4):
        world.post(f"fact-{n}", HUSAM)
    assert SUMMARY not in _shown(world)
    _quiet(world, GAP)
    world.post("I am back", HUSAM)
    shown = _shown(world)
    assert "fact-0 fact-1 fact-2 fact-3" in shown[SUMMARY]
    assert "I am back" in shown["CHAT HISTORY"]
    assert "fact-" not in shown["CHAT HISTORY"]


def test_a_summary_that_is_behind_at_a_gap_gives_way_to_a_fuller_one() -> None:
    world = _world(Settings(summary_message_threshold=2, summary_cooldown_seconds=7_200))
    for n in range(4):
        world.post(f"fact-{n}", HUSAM)
        world.run_ready()
    world.clock.advance(GAP)
    world.post("I am back", HUSAM)
    assert "fact-1" in _shown(world)[SUMMARY]
    assert "fact-3" not in _shown(world)[SUMMARY]
    _quiet(world, 7_200 - GAP)
    assert "fact-3" in _shown(world)[SUMMARY]
    assert "I am back" in _shown(world)["CHAT HISTORY"]


def test_prompt_after_reset_shows_nothing_from_before() -> None:
    world = _world(Settings(summary_message_threshold=2, summary_cooldown_seconds=60))
    for n in range(12):
        world.post(f"fact-{n}", HUSAM)
        _quiet(world, 60)
    assert SUMMARY in _shown(world)
    world.post("reset", HUSAM)
    assert (world.stored_chat().summary, world.stored_chat().pinned) == (None, None)
    for n in range(12):
        told = "".join(_shown(world).values())
        assert "fact-" not in told.replace("fact-new", "")
        world.post(f"fact-new-{n}", HUSAM)
        _quiet(world, 60)
    record = world.stored_chat().summary
    assert record is not None
    assert record.from_seq >= 13


def test_next_session_after_a_reset_shows_nothing_from_before() -> None:
    world = _world()
    for n in range(4):
        world.post(f"fact-{n}", HUSAM)
    _quiet(world, 1_000)
    world.post("reset", HUSAM)
    world.post("fact-a", HUSAM)
    world.post("fact-b", HUSAM)
    _quiet(world, GAP)
    world.post("I am back", HUSAM)
    shown = _shown(world)
    assert "fact-a fact-b" in shown[SUMMARY]
    assert "fact-0" not in "".join(shown.values())
    assert (_session(world).reset, _session(world).reset_seq) == (False, 5)


def test_summary_in_progress_during_a_reset_is_discarded() -> None:
    world = _world(Settings(summary_message_threshold=2))

    def meanwhile(request: ModelRequest) -> str:
        world.post("reset", HUSAM)
        return _facts(request)

    world.post("fact-1", HUSAM)
    world.post("fact-2", HUSAM)
    world.model.summaries.appendleft(meanwhile)
    world.renew(SummaryJob(tenant=TENANT, chat_id="chat_1"))
    assert _session(world).reset
    assert world.stored_chat().summary is None


def test_an_agents_note_of_before_a_reset_is_shown_nowhere_and_starts_afresh() -> None:
    world = _world(Settings(summary_cooldown_seconds=10))
    world.chat(HUSAM, COACH, chat_id="chat_2", kind="direct", visibility="private")
    world.post("fact-old", HUSAM)
    world.post("More", HUSAM)
    _quiet(world, 60)
    others = "OTHER ACTIVE CONVERSATIONS"
    prompt = world.app.preview.show(TENANT, COACH.id, "chat_2")
    assert others in {section.name for section in prompt.sections}
    world.post("reset", HUSAM)
    prompt = world.app.preview.show(TENANT, COACH.id, "chat_2")
    assert others not in {section.name for section in prompt.sections}
    world.post("Something new", HUSAM)
    world.post("And more", HUSAM)
    _quiet(world, 60)
    note = world.membership(COACH).summary
    assert note is not None
    assert note.from_seq >= 3
    asked = world.model.summary_requests[-1].messages
    assert "fact-old" not in "".join(message.content for message in asked)


def test_unanswered_message_of_an_earlier_session_is_shown() -> None:
    world = _world(respond="every")
    world.post("Is the pool open?", HUSAM)
    world.clock.advance(GAP)
    world.post("Are you there?", HUSAM)
    assert _session(world).first_seq == 2
    world.drain()
    prompt = "".join(message.content for message in world.model.requests[-1].messages)
    assert "Is the pool open?" in prompt


def test_long_sms_session_shows_few_messages_beside_a_summary() -> None:
    world = _world()
    for n in range(20):
        world.post(f"fact-{n}", HUSAM)
        _quiet(world, 60)
        shown = _shown(world)["CHAT HISTORY"].count("fact-")
        assert shown <= 10
    assert 3 <= shown <= 5 + 5  # one cooldown of messages may not be summed up yet
    assert "fact-0" in _shown(world)[SUMMARY]


@settings(max_examples=examples(30))
@given(st.data())
def test_every_session_message_is_in_window_or_summary(data: st.DataObject) -> None:
    world = _world(Settings(summary_message_threshold=2, summary_cooldown_seconds=10))
    reset_at = 0
    for n in range(1, data.draw(st.integers(2, 15)) + 1):
        pause = data.draw(st.sampled_from([1, 60, GAP]))
        _quiet(world, pause)
        resets = data.draw(st.integers(0, 9)) == 0
        world.post("reset" if resets else f"fact-{n:03}", HUSAM)
        if resets:
            reset_at = n
        world.run_ready()
    shown = _shown(world)
    told = f"{shown['CHAT HISTORY']}\n{shown.get(SUMMARY, '')}"
    seen = {int(word[-3:]) for word in _facts_in(told)}
    first = _session(world).first_seq
    assert {n for n in seen if n < reset_at} == set()
    for message in world.messages():
        if message.seq >= first and not message.resets:
            assert message.seq in seen


def _facts_in(text: str) -> set[str]:
    words = text.replace('"', " ").replace(".", " ").split()
    return {word for word in words if word.startswith("fact-")}


# ---------------------------------------------------------------------- what the agent is told


def test_prompt_shows_when_the_session_began() -> None:
    world = _world(respond="every")
    world.post("Hello", HUSAM)
    assert SESSION not in _shown(world)
    world.drain()
    world.clock.advance(GAP)
    world.post("And later?", HUSAM)
    world.drain()
    before, begun = world.messages()[1].created_at, world.messages()[2].created_at
    second = _shown(world)
    assert list(second).index(SESSION) < list(second).index("CHAT HISTORY")
    assert second[SESSION].splitlines()[1] == (
        f"  This conversation began on {begun:%Y-%m-%d %H:%M} UTC. "
        f"The message before it was sent on {before:%Y-%m-%d %H:%M} UTC."
    )
    world.clock.advance(60)
    world.post("And now?", HUSAM)
    world.drain()
    assert _shown(world)[SESSION] == second[SESSION]


def test_prompt_after_reset_states_the_reset() -> None:
    world = _world(respond="every")
    for text in ("Hello", "reset", "Tennis?"):
        world.post(text, HUSAM)
        world.drain()
    assert _shown(world)[SESSION].endswith(
        " UTC: the person asked to start over. Do not look up or mention what was said before."
    )


# ---------------------------------------------------------------------- keywords and notices


@pytest.mark.parametrize("history", ["roles", "timeline"])
def test_keywords_and_notices_are_shown_where_a_setting_says_so(history: Any) -> None:
    world = _world(agent={"history_format": history})
    world.post("Hello", HUSAM)
    world.post("HELP", HUSAM, kind="keyword")
    world.post("This number is for runners.", COACH, kind="notice")
    assert "HELP" not in _shown(world)["CHAT HISTORY"]
    said = ChatOverridesChange(include_system_messages=True)
    world.app.agents.change(TENANT, COACH.id, AgentChange(settings=said))
    shown = _shown(world)["CHAT HISTORY"]
    quote = '"' if history == "timeline" else ""
    assert f"[keyword] {quote}HELP{quote}" in shown
    assert f"[notice] {quote}This number is for runners.{quote}" in shown


# ---------------------------------------------------------------------- the rule by itself


@given(
    st.integers(0, 4 * GAP * 1_000),
    st.booleans(),
    st.integers(1, 120),
)
def test_a_session_is_begun_exactly_at_the_gap_to_the_millisecond(
    milliseconds: int, resets: bool, minutes: int
) -> None:
    world = _world(Settings(conversation_gap_minutes=minutes))
    last = LastMessage(seq=4, text="Hi", sender=HUSAM, created_at=NOON)
    current = Session(id="ses_1", started_at=NOON, first_seq=2, reset_seq=1)
    chat = world.stored_chat().model_copy(
        update={"last_seq": 4, "last_message": last, "session": current}
    )
    message = Message(
        tenant=TENANT,
        chat_id=chat.id,
        id="msg_5",
        seq=5,
        text="Hi",
        sender=HUSAM,
        client_id="5",
        resets=resets,
        created_at=NOON + timedelta(milliseconds=milliseconds),
    )
    found = session_with(chat, message, _effective(chat, world), world.ids)
    assert found is not None
    begun = resets or milliseconds >= minutes * 60_000
    assert (found != current) is begun
    assert found.reset_seq == (5 if resets else 1)


def _effective(chat: Chat, world: World) -> Settings:
    return effective_in(chat, world.settings)
