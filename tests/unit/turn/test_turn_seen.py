"""What is new to an agent: everything that no prompt has shown it yet, and nothing else."""

from typing import Any

from skein.models.common.storage import Update
from skein.models.runs.completion import ModelRequest
from tests.support.builders import World, bot, person
from tests.support.fakes import Calls, Script, ScriptedModel, calls, says
from tests.support.timeline_parser import Said, timeline

HUSAM = person()
COACH, DESIGNER = bot(), bot("agt_b", "Designer")


def _world(*script: Script, default: Script = "[silence]", **chat: Any) -> World:
    world = World(model=ScriptedModel.saying(*script, default=default))
    world.agent(history_format="timeline", reply_mode="text")
    world.chat(HUSAM, COACH, **chat)
    return world


def _shown(request: ModelRequest) -> list[Said]:
    sections = request.messages[0].content.split("\n\n")
    history = next(part for part in sections if part.startswith("CHAT HISTORY"))
    return timeline(history)[1]


def _new(request: ModelRequest) -> list[str]:
    return [entry.text for entry in _shown(request) if not entry.seen]


def test_messages_shown_once_are_seen_in_the_next_prompt() -> None:
    world = _world("Hi!")
    world.post("Hello", HUSAM)
    world.drain()
    world.post("How far today?", HUSAM)
    world.drain()
    first, second = map(_new, world.model.requests)
    assert first == ["Hello"]
    assert second == ["How far today?"]
    assert [entry.text for entry in _shown(world.model.requests[1])] == [
        "Hello",
        "Hi!",
        "How far today?",
    ]


def test_message_during_run_is_new_in_the_next_prompt() -> None:
    def while_working(_: ModelRequest) -> str:
        world.post("One more thing", HUSAM)
        world.post("And another", HUSAM)
        return "On it."

    world = _world(while_working)
    world.post("Hello", HUSAM)
    world.drain()
    assert [_new(request) for request in world.model.requests] == [
        ["Hello"],
        ["One more thing", "And another"],
    ]


def test_own_answer_does_not_mark_earlier_unseen_messages_as_seen() -> None:
    def while_working(_: ModelRequest) -> str:
        world.post("Wait, not today", HUSAM)
        return "10 km today."

    world = _world(while_working)
    world.post("How far?", HUSAM)
    world.drain()
    texts = [(entry.text, entry.seen) for entry in _shown(world.model.requests[1])]
    assert texts == [("How far?", True), ("Wait, not today", False), ("10 km today.", True)]


def test_run_without_answer_marks_shown_messages_as_seen() -> None:
    world = _world()
    world.post("Hello", HUSAM)
    world.drain()
    assert world.texts() == ["Hello"]
    assert world.membership(COACH).seen_seq == 1
    world.post("Anybody?", HUSAM)
    world.drain()
    assert _new(world.model.requests[1]) == ["Anybody?"]


def test_waiting_run_marks_shown_messages_as_seen() -> None:
    world = World(model=ScriptedModel.saying(says("Which day?", wait=True), default="[silence]"))
    world.agent(history_format="timeline", reply_mode="tools")
    world.chat(HUSAM, COACH)
    world.post("Plan my run", HUSAM)
    world.run_ready()
    world.clock.advance(1)
    world.run_ready()
    assert world.runs()[0].status == "waiting"
    assert world.membership(COACH).seen_seq >= 1
    world.post("Friday", HUSAM)
    world.drain()
    resumed = _shown(world.model.requests[1])
    assert [(entry.text, entry.seen, entry.marks) for entry in resumed] == [
        ("Plan my run", True, ("trigger",)),
        ("Which day?", True, ()),
        ("Friday", False, ("resume",)),
    ]


def test_seen_mark_never_moves_back() -> None:
    def while_working(_: ModelRequest) -> str:
        world.table.write(Update(world.membership(COACH).key, set={"seen_seq": 7}))
        return "[silence]"

    world = _world(while_working)
    world.post("Hello", HUSAM)
    world.drain()
    assert world.membership(COACH).seen_seq == 7


def test_seen_mark_of_another_shown_chat_never_moves_back() -> None:
    world = World(model=ScriptedModel.saying(default=calls("end_run")))
    world.agent(history_format="timeline", reply_mode="tools")
    world.chat(HUSAM, COACH)
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="manual")
    world.post("The figures are in", HUSAM, chat_id="chat_2")

    def has_seen_more(_: ModelRequest) -> Calls:
        key = world.membership(COACH, "chat_2").key
        world.table.write(Update(key, set={"seen_seq": 7}))
        return calls("end_run")

    ask = says("Which ones?", wait=True, chat_id="chat_2")
    world.model.script.extend([ask, has_seen_more])
    world.post("Pull the figures", HUSAM)
    world.run_ready()
    world.clock.advance(1)
    world.run_ready()
    world.post("These", HUSAM, chat_id="chat_2")
    world.drain()
    assert '"These"' in world.model.prompt
    assert world.membership(COACH, "chat_2").seen_seq == 7


def test_keywords_and_notices_are_never_shown_and_never_stay_unread() -> None:
    world = _world()
    world.post("STOP", HUSAM, kind="keyword")
    world.post("You are unsubscribed.", COACH, kind="notice")
    world.post("Hello", HUSAM)
    world.post("START", HUSAM, kind="keyword")
    world.drain()
    assert [entry.text for entry in _shown(world.model.requests[0])] == ["Hello"]
    assert world.membership(COACH).seen_seq == 4


def test_each_agent_has_its_own_seen_mark() -> None:
    world = World(model=ScriptedModel.saying(default="[silence]"))
    for agent in (COACH, DESIGNER):
        world.agent(agent.id, agent.name, history_format="timeline", reply_mode="text")
    world.chat(HUSAM, COACH, DESIGNER, respond="mention")
    world.post("Hello @Coach", HUSAM)
    world.drain()
    world.post("Hello @Designer", HUSAM)
    world.drain()
    assert [_new(request) for request in world.model.requests] == [
        ["Hello @Coach"],
        ["Hello @Coach", "Hello @Designer"],
    ]
    assert (world.membership(COACH).seen_seq, world.membership(DESIGNER).seen_seq) == (1, 2)


def test_messages_seen_in_another_chat_are_marked_there() -> None:
    asks = says("Does Friday suit you?", chat_id="chat_2", wait=True)
    world = World(model=ScriptedModel.saying(asks, default="[silence]"))
    world.agent(history_format="timeline", reply_mode="tools")
    world.chat(HUSAM, COACH)
    sarah = person("usr_sarah", "Sarah")
    world.chat(sarah, COACH, chat_id="chat_2", title="Sarah", respond="manual")
    world.post("Hello from long ago", sarah, chat_id="chat_2")
    world.post("Ask Sarah about Friday", HUSAM)
    world.run_ready()
    world.clock.advance(1)
    world.run_ready()
    assert world.membership(COACH, "chat_2").seen_seq < 1
    world.post("It does", sarah, chat_id="chat_2")
    world.drain()
    assert world.membership(COACH).seen_seq == 1
    assert world.membership(COACH, "chat_2").seen_seq == 3
    assert _new(world.model.requests[1]) == ["Hello from long ago", "It does"]
