"""The messages that a recall reads."""

from collections import Counter
from dataclasses import replace

from skein.recall.candidates import (
    ELSEWHERE,
    NEIGHBOURS,
    PROMPT_MESSAGES,
    PROMPT_NEIGHBOURED,
    chosen,
)
from skein.recall.ranking import Hit, Line
from tests.support.builders import World, bot, person
from tests.support.recalling import request_in

SEQ = 10


def hit(chat_id: str, seq: int = SEQ) -> Hit:
    return Hit(Line(chat_id, seq, 0, "usr_lena", frozenset()), 1.0)


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


def test_prompt_reads_fewer_messages_than_a_tool_and_the_best_with_their_neighbours() -> None:
    world = World()
    world.agent()
    world.chat(person(), bot(), respond="manual")
    hits = [hit("chat_1", SEQ * number) for number in range(1, 80)]
    request = request_in(world, "deposit")
    of_prompt = chosen(request, hits, [], {}).messages
    assert len(of_prompt) == PROMPT_MESSAGES
    beside = {seq // SEQ for _, seq in of_prompt if seq % SEQ == 1}
    assert beside == {*range(1, PROMPT_NEIGHBOURED + 1)}
    assert len(chosen(replace(request, thorough=True), hits, [], {}).messages) > PROMPT_MESSAGES
    large = replace(request, tokens=4_000)
    assert len(chosen(large, hits, [], {}).messages) > PROMPT_MESSAGES
