"""Recall finds old messages that may be shown, at a cost that does not grow."""

import logging
from typing import Any

import pytest

from skein.errors import NoVectorIndex
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.storage import Item, Key, Update
from skein.models.common.vector_search import MAX_NEAREST, VectorSearch
from tests.patterns.meter import Meter
from tests.support.builders import TENANT, World, bot, person
from tests.support.recalling import DEPOSIT, indexed, recall_of, recalled, request_in, texts_of

HUSAM, LENA, COACH = person(), person("usr_lena", "Lena"), bot()
SUBJECTS = (
    "My sister plays the violin in an orchestra.",
    "We watched a film about penguins last night.",
    "The bicycle needs a new chain before summer.",
    "I baked bread with walnuts and honey.",
    "The train to the mountains leaves at seven.",
    "Our cat sleeps on the keyboard all day.",
    "The meeting with the accountant was moved to Friday.",
    "He paints portraits of sailors.",
)


def chatting(*members: NamedMember, **fields: Any) -> World:
    """A group with one message about a deposit among others, all indexed."""
    world = World()
    world.agent()
    world.chat(*(members or (HUSAM, LENA, COACH)), respond="manual", **fields)
    talk(world, "chat_1", 0)
    world.post(DEPOSIT, HUSAM)
    talk(world, "chat_1", 8)
    indexed(world, "chat_1")
    return world


def talk(world: World, chat_id: str, number: int, sender: MemberRef = HUSAM) -> None:
    for text in SUBJECTS:
        world.post(f"{text} ({number})", sender, chat_id=chat_id)
        world.clock.advance(60)


def test_recall_finds_an_old_message_by_its_words() -> None:
    found = recalled(chatting(), "How high is the deposit for the flat?")
    assert texts_of(found)[0] == DEPOSIT
    assert 0 < found.tokens <= 1_000


def test_recall_of_a_query_with_a_lone_surrogate_finds_by_the_rest() -> None:
    assert texts_of(recalled(chatting(), "the deposit for the flat \ud800"))[0] == DEPOSIT


def test_recall_finds_an_old_message_by_its_meaning() -> None:
    assert recalled(chatting(), "Where does the kitten sleep?").entries[0].message.seq in {6, 15}


@pytest.mark.parametrize("query", ["thanks!", "Kubernetes ingress certificate rotation", ""])
def test_recall_without_a_match_shows_nothing(query: str) -> None:
    found = recalled(chatting(), query)
    assert (found.entries, found.tokens) == ((), 0)


def test_recall_leaves_out_messages_that_are_shown_anyway() -> None:
    found = recalled(chatting(), "the deposit for the flat", shown=frozenset({("chat_1", 9)}))
    assert DEPOSIT not in texts_of(found)


def test_recall_keeps_to_its_budget() -> None:
    world = chatting()
    for tokens in (10, 60, 200):
        assert recalled(world, "the deposit for the flat in Hafen", tokens=tokens).tokens <= tokens


def test_recall_of_a_discarded_chat_shows_nothing() -> None:
    world = chatting()
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    found = recalled(world, "the deposit for the flat", chat_id=None)
    assert found.entries == ()


def test_recall_elsewhere_shows_an_open_chat_but_no_private_one() -> None:
    world = chatting()
    world.chat(LENA, COACH, chat_id="chat_2", visibility="private", respond="manual")
    world.post("My deposit is hidden in the violin", LENA, chat_id="chat_2")
    indexed(world, "chat_2")
    world.chat(HUSAM, COACH, chat_id="chat_3", visibility="private", respond="manual")
    assert texts_of(recalled(world, "deposit", "chat_1"))[0] == DEPOSIT
    assert "My deposit is hidden in the violin" not in texts_of(recalled(world, "deposit"))
    assert texts_of(recalled(world, "deposit", "chat_3"))[0] == DEPOSIT
    assert "My deposit is hidden in the violin" in texts_of(recalled(world, "deposit", "chat_2"))


def test_recall_in_a_direct_chat_finds_another_direct_chat_of_the_person() -> None:
    world = World()
    world.agent()
    fields: dict[str, Any] = {
        "kind": "direct",
        "visibility": "private",
        "respond": "manual",
        "title": None,
    }
    world.chat(HUSAM, COACH, chat_id="chat_1", **fields)
    world.chat(HUSAM, COACH, chat_id="chat_2", **fields)
    world.chat(LENA, COACH, chat_id="chat_3", **fields)
    world.post(DEPOSIT, HUSAM, chat_id="chat_2")
    indexed(world, "chat_2")
    assert texts_of(recalled(world, "deposit", "chat_1")) == [DEPOSIT]
    assert texts_of(recalled(world, "deposit", "chat_3")) == []


def test_recall_in_a_private_group_starts_after_the_last_joining() -> None:
    world = chatting(HUSAM, COACH, visibility="private")
    assert texts_of(recalled(world, "deposit"))[0] == DEPOSIT
    world.known(LENA)
    world.add(LENA)
    assert texts_of(recalled(world, "deposit")) == []
    world.post("The deposit was paid back", HUSAM)
    indexed(world, "chat_1")
    assert texts_of(recalled(world, "deposit")) == ["The deposit was paid back"]


def test_scores_after_a_joining_do_not_depend_on_what_was_said_before() -> None:
    scores = []
    for secret in ("deposit " * 3 + "hidden", "something else entirely"):
        world = World()
        world.agent()
        world.chat(HUSAM, COACH, visibility="private", respond="manual")
        world.post(secret, HUSAM)
        world.known(LENA)
        world.add(LENA)
        talk(world, "chat_1", 0)
        world.post(DEPOSIT, HUSAM)
        indexed(world, "chat_1")
        found = recalled(world, "the deposit for the flat")
        scores.append([(entry.message.seq, entry.score) for entry in found.entries])
    assert scores[0]
    assert scores[0] == scores[1]


def test_recall_omits_messages_from_before_the_agent_joined() -> None:
    world = World()
    world.agent()
    world.agent("agt_b", "Clerk")
    world.chat(HUSAM, COACH, respond="manual")
    world.post(DEPOSIT, HUSAM)
    world.app.chat_admin.add_member(TENANT, "chat_1", HUSAM, bot("agt_b", "Clerk").ref)
    world.post("The deposit was paid back", HUSAM)
    indexed(world, "chat_1")
    found = recalled(world, "deposit", agent_id="agt_b")
    assert texts_of(found) == ["The deposit was paid back"]


def test_recall_checks_a_message_when_it_is_shown() -> None:
    world = chatting()
    key = Key(f"{TENANT}#CHAT#chat_1", "MSG#000000000009")
    world.table.write(Update(key, set={"kind": "erased", "text": ""}))
    assert DEPOSIT not in texts_of(recalled(world, "deposit for the flat"))


def test_recall_after_a_reset_does_not_reach_before_it() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private", respond="manual", title=None)
    world.post(DEPOSIT, HUSAM)
    world.post("start over", HUSAM)
    world.post("Hello", HUSAM)
    indexed(world, "chat_1")
    assert world.stored_chat().session is not None
    assert texts_of(recalled(world, "deposit for the flat")) == []


def test_recall_of_a_person_shows_their_messages_alone() -> None:
    world = chatting()
    world.post("The deposit is much too high", LENA)
    indexed(world, "chat_1")
    for name in ("Lena", "usr_lena", "lena"):
        assert texts_of(recalled(world, "deposit", person=name)) == ["The deposit is much too high"]


def test_recall_of_a_time_shows_messages_of_that_time_alone() -> None:
    world = chatting()
    before = int(world.clock.now().timestamp())
    world.clock.advance(86_400 * 40)
    world.post("The deposit was paid back", HUSAM)
    indexed(world, "chat_1")
    later = texts_of(recalled(world, "deposit", first_at=before))
    assert later == ["The deposit was paid back"]
    assert "The deposit was paid back" not in texts_of(recalled(world, "deposit", last_at=before))


def test_query_of_a_time_phrase_finds_the_messages_of_that_time() -> None:
    world = chatting()
    world.clock.advance(86_400 * 60)
    world.post("The harbour is frozen", HUSAM)
    indexed(world, "chat_1")
    found = recalled(world, "What did we talk about two months ago?")
    assert len(found.entries) >= 8
    assert "The harbour is frozen" not in texts_of(found)


def test_recall_of_a_chat_shows_that_chat_alone() -> None:
    world = chatting()
    world.chat(HUSAM, COACH, chat_id="chat_2", respond="manual")
    world.post("The deposit was paid back", HUSAM, chat_id="chat_2")
    indexed(world, "chat_2")
    found = recalled(world, "deposit", only_chat_id="chat_2")
    assert texts_of(found) == ["The deposit was paid back"]


def test_same_words_of_others_do_not_hide_what_the_named_person_said() -> None:
    world = World()
    world.agent()
    world.chat(HUSAM, LENA, COACH, respond="manual")
    said = "I do not eat mushrooms, they make me ill."
    for number in range(20):
        world.post(f"The bicycle of {number} needs a new chain.", LENA)
    world.post(said, LENA)
    for number in range(20):
        world.post(f"The train at {number} leaves for the mountains.", LENA)
    for number in range(MAX_NEAREST):  # as many as a search finds
        world.post(f"They do not eat before {number}.", HUSAM)
    indexed(world, "chat_1")
    assert texts_of(recalled(world, "What does Lena not eat?", thorough=True))[0] == said


def test_repeated_text_of_a_sender_is_shown_once() -> None:
    world = chatting()
    world.post(DEPOSIT, HUSAM)
    indexed(world, "chat_1")
    assert texts_of(recalled(world, "deposit for the flat")).count(DEPOSIT) == 1


def test_long_message_is_shown_by_its_matching_part() -> None:
    world = chatting()
    long = "Nothing to see here. " * 200 + "The xylophone stands in the attic. " + "Bye now. " * 200
    world.post(long, HUSAM)
    indexed(world, "chat_1")
    entry = recalled(world, "Where is the xylophone?").entries[0]
    assert "xylophone" in entry.text
    assert len(entry.text) < len(long) / 2
    assert entry.text.startswith("[...] ")


class NoVectors:
    """An index in a region without vector indexes."""

    def nearest(self, search: VectorSearch) -> list[Item]:
        raise NoVectorIndex(search.partition)


def test_recall_without_a_vector_index_finds_rare_words(caplog: pytest.LogCaptureFixture) -> None:
    world = chatting()
    recall = recall_of(world, vectors=NoVectors())
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = recall.find(request_in(world, "what about 1450?"))
            assert texts_of(found) == [DEPOSIT]
    assert [record.message for record in caplog.records] == ["recall searches by words only"]


def test_recall_takes_the_same_calls_for_a_short_and_a_long_chat() -> None:
    costs = []
    for rounds in (1, 10):
        world, meter = chatting(), Meter()
        for number in range(rounds):
            talk(world, "chat_1", 100 + number)
        indexed(world, "chat_1")
        with meter(world):
            recalled(world, "How high is the deposit for the flat of Lena?")
        costs.append(meter.cost)
    assert costs[0] == costs[1]
    assert costs[0] is not None
    assert costs[0].calls == "1 get, 1 get_many, 2 get_many_eventual, 1 nearest"
