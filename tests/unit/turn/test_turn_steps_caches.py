"""What a request tells the provider's prompt cache."""

from skein.models.runs.completion import StableEnd
from tests.support.builders import World, bot, person
from tests.support.fakes import ScriptedModel


def test_requests_of_an_agent_in_a_chat_have_one_key_and_tell_the_pace_of_the_chat() -> None:
    world = World(model=ScriptedModel.saying(default=lambda _: "Yes."))
    world.agent()
    for chat_id in ("chat_1", "chat_2"):
        world.chat(person(), bot(), chat_id=chat_id, kind="direct")
        for text in ("One", "Two", "Three"):
            world.post(text, person(), chat_id=chat_id)
            world.drain()
            world.clock.advance(600)
    requests = world.model.requests
    keys = [request.cache_key for request in requests]
    assert keys[0] == keys[1] == keys[2] != keys[3] == keys[4] == keys[5]
    assert [len(request.gaps) for request in requests] == [0, 1, 2, 0, 1, 2]
    assert all(gap >= 600 for request in requests for gap in request.gaps)
    ends = [request.stable_end for request in requests]
    assert None not in ends
    assert ends[2] is not None
    assert ends[2] > StableEnd(0)
