"""Answer streams: who is sent the words of an answer while the model writes them."""

from collections import Counter
from typing import Any

import pytest

from skein.errors import ModelFiltered, Unavailable
from skein.live.answer_streams import AnswerStream
from skein.models.common.address import phone_address
from skein.models.common.storage import Update
from skein.models.outbox.jobs import RunJob
from tests.support.builders import INVOCATION, LINE, TENANT, World, bot, person
from tests.support.fakes import Killed, calls, faulty
from tests.support.live import connect

DANA, TOM, LENA = (person(f"usr_{name.lower()}", name) for name in ("Dana", "Tom", "Lena"))
SLOW = 4.5  # seconds of each word of a slow model, longer than the longest pause
ANSWER = "Rest on Monday, and run on Tuesday."


@pytest.fixture
def world() -> World:
    """Dana and Tom are in a private group with an agent; they and Lena are connected."""
    return group()


def group(**agent: Any) -> World:
    made = World()
    made.agent(**agent)
    made.known(DANA, TOM, LENA)
    made.chat(DANA, TOM, bot(), visibility="private")
    for who in (DANA, TOM, LENA):
        connect(made, who.id, who.name)
    made.model.between = lambda _: passes(made, SLOW)
    made.model.default = ANSWER
    return made


def passes(world: World, seconds: float) -> None:
    world.clock.advance(seconds)
    world.background.finish(0)


def ask(world: World, **fields: Any) -> None:
    world.post("What shall I do?", DANA, **fields)
    world.clock.advance(10)
    [job] = world.queues.ready("turns")
    assert isinstance(job, RunJob)
    world.take(job)


def opened(world: World) -> AnswerStream:
    """Claim the queued run, and open the stream of its answer to Tom."""
    [job] = world.queues.ready("turns")
    assert isinstance(job, RunJob)
    claim = world.app.leases.claim(job, lease_until=world.clock.now() + INVOCATION)
    assert claim is not None
    readers = world.stored_chat().readers
    return world.app.turns.streams.open(claim, readers, [TOM.id], start_of=str)


def words(world: World, connection_id: str) -> list[str]:
    """Return the words of a connection's `delta` frames, with the frames in between as types."""
    frames = world.sockets.frames(connection_id)
    return [frame.get("text", f"<{frame['type']}>") for frame in frames]


def read(world: World, connection_id: str) -> str:
    """Return what a client shows that applies the frames as docs/clients.md says."""
    shown, last = "", 0
    for frame in world.sockets.frames(connection_id):
        if frame["type"] == "retract":
            shown, last = "", 0
        elif frame["n"] == last + 1:
            shown, last = shown + frame["text"], last + 1
    return shown


def test_answer_is_streamed_to_the_readers_word_by_word(world: World) -> None:
    ask(world)
    assert words(world, "Dana") == words(world, "Tom")
    assert len(words(world, "Dana")) == 7
    assert ANSWER.startswith(read(world, "Dana"))
    assert words(world, "Lena") == []
    assert world.texts()[-1] == ANSWER
    first = world.sockets.frames("Dana")[0]
    assert first == {
        "type": "delta",
        "chat_id": "chat_1",
        "agent": {"id": "agt_a", "name": "Coach"},
        "n": 1,
        "text": "Rest",
    }


@pytest.mark.parametrize(("seconds", "frames"), [(0.9, 1), (3, 3), (7.9, 4), (19, 7)])
def test_pauses_between_frames_grow_with_the_answer(
    world: World, seconds: float, frames: int
) -> None:
    world.model.default = " ".join(str(n) for n in range(100))
    world.model.between = lambda _: passes(world, seconds / 100)
    ask(world)
    assert len(words(world, "Dana")) == frames


@pytest.mark.parametrize(
    "answer",
    ["[silence]", "**[Silence].**", "(silence)", "- [silence]"],
)
def test_silence_token_is_never_streamed(world: World, answer: str) -> None:
    world.model.default = answer
    ask(world)
    assert words(world, "Dana") == []


def test_labels_and_trailing_silence_are_never_sent(world: World) -> None:
    world.model.default = "[msg:3 14:50:00] Coach: Rest on Monday. [silence]"
    ask(world)
    assert "".join(words(world, "Dana")) == "Rest on Monday."
    assert world.texts()[-1] == "Rest on Monday."


@pytest.mark.parametrize(
    ("agent", "chat"),
    [
        ({"reply_mode": "tools"}, {}),
        ({"settings": {"streaming": False}}, {}),
    ],
)
def test_answer_is_not_streamed_if_it_may_not_be(agent: Any, chat: Any) -> None:
    world = group(**agent)
    world.model.between = lambda _: pytest.fail("the answer was streamed")
    ask(world)
    assert words(world, "Dana") == []


def test_answer_on_a_line_is_not_streamed() -> None:
    world = World()
    world.agent()
    world.line()
    world.known(DANA)
    world.chat(DANA, bot(), kind="direct", visibility="private", line=phone_address(LINE))
    connect(world, DANA.id, "Dana")
    world.model.between = lambda _: pytest.fail("the answer was streamed")
    world.post("Hello", DANA)
    world.drain()
    assert words(world, "Dana") == []


def test_streaming_costs_no_reads_without_listeners_and_one_per_frame_with_one() -> None:
    def reads(*, listens: bool) -> tuple[Counter[str], int]:
        world = World()
        world.agent()
        world.known(DANA)
        world.chat(DANA, bot(), kind="direct", visibility="private")
        if listens:
            connect(world, DANA.id, "Dana")
        world.model.default = ANSWER
        world.model.between = lambda _: passes(world, SLOW)
        world.table.log.clear()
        ask(world)
        return Counter(call.method for call in world.table.log), len(words(world, "Dana"))

    without, none = reads(listens=False)
    streamed, frames = reads(listens=True)
    assert none == 0
    assert frames == 7
    assert streamed == without + Counter({"get_many": frames})


def test_person_who_leaves_receives_nothing_more(world: World) -> None:
    def between(said: str) -> None:
        passes(world, SLOW)
        if said.endswith("Monday, "):
            world.app.chat_admin.remove_member(TENANT, "chat_1", DANA.ref, TOM.ref)

    world.model.between = between
    ask(world)
    assert "".join(words(world, "Tom")) == "Rest on Monday,"
    assert len(words(world, "Dana")) == 7


def test_person_who_joins_receives_nothing_and_the_dropped_answer_is_retracted(
    world: World,
) -> None:
    joined: list[str] = []

    def between(said: str) -> None:
        passes(world, SLOW)
        if said.endswith("Monday, ") and not joined:
            joined.append(said)
            world.add(LENA, by=DANA)

    world.model.between = between
    ask(world)
    dana = words(world, "Dana")
    assert dana[:4] == ["Rest", " on", " Monday,", "<retract>"]
    assert ANSWER.startswith(read(world, "Dana"))
    assert read(world, "Dana")
    assert words(world, "Lena") == dana[4:]  # of the activation that was made for her, too


def test_new_connection_receives_the_answer_from_its_start(world: World) -> None:
    def between(said: str) -> None:
        passes(world, SLOW)
        if said.endswith("and "):
            connect(world, DANA.id, "Dana 2")

    world.model.between = between
    ask(world)
    assert words(world, "Dana 2")[0] == "Rest on Monday, and run"
    assert read(world, "Dana 2") == read(world, "Dana")


def test_tool_calls_retract_the_words_before_them(world: World) -> None:
    world.model.script.extend([calls("get_my_runs", text="Let me see."), ANSWER])
    ask(world)
    assert "<retract>" in words(world, "Dana")
    assert ANSWER.startswith(read(world, "Dana"))


@pytest.mark.parametrize(
    "fault",
    ["cut_off", "filtered", "refused"],
)
def test_unusable_answer_is_retracted(world: World, fault: Any) -> None:
    world.model.script.extend([faulty(fault, "I would say"), ANSWER])
    ask(world)
    sent = words(world, "Dana")
    assert sent.index("<retract>") < sent.index("Rest")
    assert ANSWER.startswith(read(world, "Dana"))
    assert world.texts()[-1] == ANSWER


def test_answer_that_stays_unusable_is_retracted(world: World) -> None:
    world.model.script.extend([faulty("cut_off", "I would"), faulty("cut_off", "You should")])
    ask(world)
    assert read(world, "Dana") == ""
    assert words(world, "Dana")[-1] == "<retract>"


@pytest.mark.parametrize("error", [Unavailable("gone"), ModelFiltered("no"), RuntimeError("bug")])
def test_answer_that_breaks_off_is_retracted(world: World, error: Exception) -> None:
    def between(said: str) -> None:
        passes(world, SLOW)
        if said.endswith("Monday, "):
            raise error

    world.model.between = between
    ask(world)
    assert words(world, "Dana") == ["Rest", " on", " Monday,", "<retract>"]


def test_attempt_after_a_crash_begins_with_a_retract(world: World) -> None:
    def between(said: str) -> None:
        passes(world, SLOW)
        if said.endswith("Monday, "):
            world.background.full = True  # a dead worker sends nothing
            raise Killed

    world.model.between = between
    world.post("What shall I do?", DANA)
    world.clock.advance(10)
    [job] = world.queues.ready("turns")
    assert isinstance(job, RunJob)
    with pytest.raises(Killed):
        world.take(job)
    assert read(world, "Dana") == "Rest on Monday,"
    world.background.full = False
    world.clock.advance(200)
    world.model.between = lambda _: passes(world, SLOW)
    world.take(job)
    assert words(world, "Dana")[:4] == ["Rest", " on", " Monday,", "<retract>"]
    assert ANSWER.startswith(read(world, "Dana"))
    assert world.texts() == ["What shall I do?", ANSWER]


def test_worker_that_lost_its_run_sends_nothing_more(world: World) -> None:
    def between(said: str) -> None:
        passes(world, SLOW)
        if said.endswith("Monday, "):
            [run] = world.runs()
            world.table.write(Update(run.key, set={"fence": run.fence + 1}))

    world.model.between = between
    ask(world)
    assert words(world, "Dana") == ["Rest", " on", " Monday,"]


def test_failed_push_stops_the_words_of_that_connection_alone(world: World) -> None:
    push = world.sockets.push

    def failing(connection_id: str, text: str) -> None:
        if connection_id == "Tom" and " on" in text:
            raise Unavailable("slow")
        push(connection_id, text)

    world.sockets.push = failing  # type: ignore[method-assign]
    ask(world)
    assert words(world, "Tom") == ["Rest"]
    assert len(words(world, "Dana")) == 7
    assert world.metrics.counts["FramesLost"] == 1


def test_unexpected_error_of_a_push_is_retried_once_and_the_turn_succeeds(world: World) -> None:
    push, errors = world.sockets.push, iter([LookupError("a defect")])

    def failing(connection_id: str, text: str) -> None:
        for error in errors:
            raise error
        push(connection_id, text)

    world.sockets.push = failing  # type: ignore[method-assign]
    ask(world)
    assert world.texts()[-1] == ANSWER
    assert world.metrics.counts["StreamsFailed"] == 1
    assert ANSWER.startswith(read(world, "Tom"))
    assert read(world, "Tom")


def test_unreachable_table_delays_the_words_and_not_the_turn(world: World) -> None:
    read_all = world.table.get_many
    failures = iter([True, True])

    def get_many(keys: Any, **how: Any) -> Any:
        streams = world.model.requests and any(key.sk == "LIVE" for key in keys)
        if streams and next(failures, False):
            raise Unavailable("throttled")
        return read_all(keys, **how)

    world.table.get_many = get_many  # type: ignore[method-assign]
    ask(world)
    assert world.texts()[-1] == ANSWER
    assert world.metrics.counts["StreamsFailed"] == 2
    assert ANSWER.startswith(read(world, "Dana"))
    assert read(world, "Dana")


def test_retract_after_a_failed_frame_ends_the_retries(world: World) -> None:
    world.post("What shall I do?", DANA)
    world.clock.advance(10)
    stream = opened(world)
    read_all, failures = world.table.get_many, iter([True])

    def get_many(keys: Any, **how: Any) -> Any:
        if next(failures, False):
            raise Unavailable("throttled")
        return read_all(keys, **how)

    world.table.get_many = get_many  # type: ignore[method-assign]
    stream.show("Rest")
    stream.retract()
    passes(world, SLOW)
    assert words(world, "Tom") == []
    assert world.background.waiting == 0


def test_full_queue_loses_words_and_not_the_turn(world: World) -> None:
    world.background.full = True
    ask(world)
    assert words(world, "Dana") == []
    assert world.texts()[-1] == ANSWER
    assert world.metrics.counts["StreamsFailed"] > 0


def test_words_behind_their_message_are_retracted(world: World) -> None:
    world.post("What shall I do?", DANA)
    world.clock.advance(10)
    stream = opened(world)
    push = world.sockets.push

    def slow(connection_id: str, text: str) -> None:
        push(connection_id, text)
        stream.posted()

    world.sockets.push = slow  # type: ignore[method-assign]
    stream.show("Rest")
    assert words(world, "Tom") == ["Rest", "<retract>"]


def test_chat_of_more_than_twenty_people_is_not_streamed() -> None:
    world = World()
    world.agent()
    people = [person(f"usr_{n}", f"Person {n}") for n in range(21)]
    world.known(*people)
    world.chat(*people, bot(), respond="every")
    connect(world, people[0].id, "first")
    world.model.between = lambda _: pytest.fail("the answer was streamed")
    world.post("Hello", people[0])
    world.drain()
    assert words(world, "first") == []
