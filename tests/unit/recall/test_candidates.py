"""The messages that a recall reads."""

from collections import Counter

from skein.recall.candidates import ELSEWHERE, NEIGHBOURS, chosen
from skein.recall.ranking import Hit, Line
from tests.support.builders import World, bot, person
from tests.support.recalling import request_in

SEQ = 10


def hit(chat_id: str) -> Hit:
    return Hit(Line(chat_id, SEQ, 0, "usr_lena", frozenset()), 1.0)


def test_neighbours_are_read_in_the_active_chat_and_of_the_best_hits_elsewhere() -> None:
    world = World()
    world.agent()
    world.chat(person(), bot(), respond="manual")
    elsewhere = [hit(f"chat_{number}") for number in range(2, 10)]
    choice = chosen(request_in(world, "deposit"), [*elsewhere, hit("chat_1")], [], {})
    read = Counter(chat_id for chat_id, _ in choice.messages)
    best = [one.line.chat_id for one in elsewhere[:ELSEWHERE]]
    with_neighbours = [chat_id for chat_id, count in read.items() if count == 1 + 2 * NEIGHBOURS]
    assert with_neighbours == [*best, "chat_1"]
    assert len(read) == len(elsewhere) + 1
