"""The messages that a recall reads."""

from collections import Counter
from dataclasses import replace
from typing import Any

from skein.models.common.storage import MAX_BATCH_GET_KEYS
from skein.recall.candidates import ELSEWHERE, NEIGHBOURS, SHOWN_CHARACTERS, chosen
from skein.recall.ranking import Hit, Line, MessageRef
from tests.support.builders import World, bot, person
from tests.support.recalling import request_in

SEQ = 10


def hit(chat_id: str, seq: int = SEQ, characters: int = 100) -> Hit:
    return Hit(Line(chat_id, seq, 0, "usr_lena", frozenset(), characters=characters), 1.0)


def test_neighbours_are_read_in_the_active_chat_and_of_the_best_hits_elsewhere() -> None:
    world = World()
    world.agent()
    world.chat(person(), bot(), respond="manual")
    elsewhere = [hit(f"chat_{number}") for number in range(2, 10)]
    request = replace(request_in(world, "deposit"), thorough=True)
    choice = chosen(request, [*elsewhere, hit("chat_1")], [], {})
    read = Counter(chat_id for chat_id, _ in choice.messages)
    best = [one.line.chat_id for one in elsewhere[:ELSEWHERE]]
    with_neighbours = [chat_id for chat_id, count in read.items() if count == 1 + 2 * NEIGHBOURS]
    assert with_neighbours == [*best, "chat_1"]
    assert len(read) == len(elsewhere) + 1


def test_prompt_reads_as_many_messages_as_fill_its_budget_and_those_beside_the_best() -> None:
    world = World()
    world.agent()
    world.chat(person(), bot(), respond="manual")
    request = replace(request_in(world, "deposit"), tokens=1_000)

    def read(characters: int, **changes: Any) -> list[MessageRef]:
        hits = [hit("chat_1", SEQ * number, characters) for number in range(1, 80)]
        return chosen(replace(request, **changes), hits, [], {}).messages

    of_prompt = read(200)
    assert len(of_prompt) == 49  # of 62 tokens each, three times the budget
    assert [seq for _, seq in of_prompt[:5]] == [10, 9, 11, 8, 12]
    assert len(read(40)) == MAX_BATCH_GET_KEYS
    assert len(read(SHOWN_CHARACTERS)) == len(read(9_000)) == 17
    assert len(read(200, tokens=500)) == 25
    assert len(read(200, thorough=True)) == MAX_BATCH_GET_KEYS
    assert len(read(200, tokens=4_000)) > MAX_BATCH_GET_KEYS
