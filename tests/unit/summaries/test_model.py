"""Questions for summaries: how they name people, and how they show times."""

from datetime import timedelta

import pytest

from skein.models.chats.chat import Message
from skein.models.common.base import NamedMember
from skein.summaries.model import ask_agent, ask_chat, ask_title
from tests.support.builders import NOON, TENANT, World, bot, person

ANN, OTHER_ANN, COACH = person("usr_ann1", "Ann"), person("usr_ann2", "Ann"), bot()


def _said(seq: int, text: str, sender: NamedMember) -> Message:
    return Message(
        tenant=TENANT,
        chat_id="chat_1",
        id=f"msg_{seq}",
        seq=seq,
        text=text,
        sender=sender,
        client_id=str(seq),
        created_at=NOON + timedelta(hours=seq),
    )


TALK = [
    _said(1, "I only drink tea.", ANN),
    _said(2, "I only drink coffee.", OTHER_ANN),
    _said(3, "Noted.", COACH),
]


def _world(*people: NamedMember) -> World:
    world = World()
    world.known(*people)
    world.chat(*people, COACH, respond="manual")
    return world


def test_two_people_of_one_name_stay_two_in_every_question() -> None:
    world = _world(ANN, OTHER_ANN)
    chat, agent = world.stored_chat(), world.agent()
    questions = (
        ask_agent(agent, chat, None, TALK),
        ask_chat(chat, None, TALK),
        ask_title(chat, TALK),
    )
    for _, asked in questions:
        assert " Ann: I only drink tea." in asked.content
        assert " Ann (2): I only drink coffee." in asked.content


def test_agents_own_lines_are_by_you_in_its_note_and_by_name_in_the_chats_summary() -> None:
    chat, agent = _world(ANN, OTHER_ANN).stored_chat(), World().agent()
    assert " You: Noted." in ask_agent(agent, chat, None, TALK)[1].content
    assert " Coach: Noted." in ask_chat(chat, None, TALK)[1].content


def test_times_are_in_the_zone_of_the_agent_and_those_of_a_chat_in_utc() -> None:
    chat, agent = _world(ANN, OTHER_ANN).stored_chat(), World().agent(time_zone="Asia/Tokyo")
    note, summary = ask_agent(agent, chat, None, TALK)[1], ask_chat(chat, None, TALK)[1]
    assert "(times in Asia/Tokyo):\n- [Wed 2026-02-18 22:00] Ann:" in note.content
    assert "(times in UTC):\n- [Wed 2026-02-18 13:00] Ann:" in summary.content


def test_renamed_person_is_shown_with_the_former_name() -> None:
    world = _world(ANN)
    chat = world.stored_chat()
    nina = NamedMember(kind="user", id=ANN.id, name="Nina")
    renamed = chat.model_copy(update=chat.with_roster((nina, COACH)))
    said = [_said(1, "I only drink tea.", nina)]
    for _, asked in (ask_agent(world.agent(), renamed, None, said), ask_chat(renamed, None, said)):
        assert "Who is who: Nina (human, formerly Ann)\n" in asked.content


def test_question_for_a_note_says_who_sees_it_and_asks_to_mark_confidences() -> None:
    agent = World().agent(system_prompt="Answer in one sentence.")
    system = ask_agent(agent, _world(ANN).stored_chat(), None, TALK[:1])[0].content
    assert "shown it in your other conversations, if all who read there may know it" in system
    assert "Say what was told in confidence, and by whom." in system
    assert "one or two lines" in system
    assert 'Replace words such as "today"' in system
    form = "What it says about the form of answers is for conversations, not for this note:"
    assert f"{form}\nAnswer in one sentence." in system


@pytest.mark.parametrize("name", ["Mia", "Maria"])
def test_summary_request_identifies_everyone_named_in_the_previous_summary(name: str) -> None:
    maria = NamedMember(kind="user", id="usr_mia", name="Maria")
    chat = _world(ANN, maria.model_copy(update={"name": "Mia"}), OTHER_ANN).stored_chat()
    chat = chat.model_copy(update=chat.with_roster((ANN, maria, OTHER_ANN, COACH)))
    said = [_said(1, "I only drink tea.", ANN)]
    before = f"{name} brings the cake."
    for _, asked in (ask_agent(World().agent(), chat, before, said), ask_chat(chat, before, said)):
        [who] = [line for line in asked.content.splitlines() if line.startswith("Who is who:")]
        assert "Maria (human, formerly Mia)" in who
        assert "Ann (2)" not in who


def test_question_for_a_chat_summary_asks_for_corrections_confidences_and_a_usual_length() -> None:
    system = ask_chat(_world(ANN).stored_chat(), None, TALK[:1])[0].content
    assert "If a later message corrects an earlier one, only the later one counts." in system
    assert "what somebody asked not to pass on" in system
    assert "One to five sentences are usual" in system


def test_question_for_a_note_asks_for_the_first_person_and_for_figures() -> None:
    system = ask_agent(World().agent(), _world(ANN).stored_chat(), None, TALK[:1])[0].content
    assert 'Write of yourself as "I".' in system
    assert "the facts and figures that somebody may need in another conversation" in system
    own = World().agent(summary_instruction="Only numbers.")
    assert 'yourself as "I"' in ask_agent(own, _world(ANN).stored_chat(), None, TALK[:1])[0].content
