"""What a private run may tell services that may show it to anybody, without a question."""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import pytest

from skein.models.common.http import HttpAnswer, HttpRequest
from skein.models.runs.completion import ModelRequest
from tests.fakes.outbound_http import json_answer
from tests.support.agents import AHMAD, COACH, HUSAM, results_of, stage
from tests.support.builders import World
from tests.support.fakes import Calls, Killed, calls
from tests.support.own_tools import own_tool

DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private", "title": None}
LETTER = {"type": "string", "enum": [*ascii_lowercase]}
COIN = {"side": {"type": "boolean"}}  # with one tool, a call tells 2 bits


def closed_tool(name: str = "coin", **fields: Any) -> dict[str, Any]:
    """A tool of a shared service that tosses a coin."""
    properties = fields.pop("properties", COIN)
    optional = fields.pop("optional", ())
    required = [each for each in properties if each not in optional]
    parameters = {"type": "object", "properties": properties, "required": required}
    http = {"method": "POST", "url": f"https://games.example/{name}"}
    described = {"name": name, "description": "Play.", "parameters": parameters, "http": http}
    return described | fields


def playing(*script: Any, tools: Sequence[dict[str, Any]] = (), chat: Any = None) -> World:
    """A world in which Coach answers with `script` and has these tools, or one coin."""
    records = tools or [closed_tool()]
    names = tuple(each["name"] for each in records)
    world = stage(*script, "Done.", reply_mode="text", enabled_tools=names)
    for each in records:
        own_tool(world, each)
    world.chat(HUSAM, COACH, **(DIRECT if chat is None else chat))
    return world


def ask(world: World, text: str = "Play") -> None:
    world.post(text, HUSAM)
    world.drain()


def tosses(number: int) -> Calls:
    return calls(*(("coin", {"side": True}) for _ in range(number)))


def statuses(world: World) -> list[str]:
    return [one.status for run in world.runs("chat_1") for one in results_of(world, run)]


def test_enums_of_a_private_run_spell_no_words() -> None:
    """An enum in each of 44 parameters spelled 88 characters in two calls, without a question."""
    places = {f"p{n}": LETTER for n in range(44)}
    words = "husamispositivetellnobodyhisnumberissecretxx"
    spelled = [("coin", dict(zip(places, letters, strict=True))) for letters in (words, words)]
    world = playing(calls(*spelled), tools=[closed_tool(properties=places)])
    ask(world)
    assert world.service.requests == []
    assert statuses(world) == ["failed", "failed"]
    assert "without a yes" in results_of(world, world.runs("chat_1")[0])[0].content


def test_call_over_the_bit_limit_of_a_run_requires_approval() -> None:
    tool = closed_tool(from_private="ask")
    world = playing(tosses(13), "I asked.", "Done.", tools=[tool])
    ask(world)
    assert (len(world.service.requests), statuses(world)[12:]) == (12, ["asked"])
    [question] = [each for each in world.messages() if each.choice is not None]
    assert question.text.startswith('Call coin? {"side": true} Yes sends exactly this to coin')


def test_bits_of_a_run_are_counted_over_all_its_steps() -> None:
    world = playing(tosses(7), tosses(7))
    ask(world)
    assert statuses(world) == ["done"] * 12 + ["failed"] * 2
    assert len(world.service.requests) == 12


def test_bits_of_a_run_are_counted_over_all_its_activations() -> None:
    def joins(_: ModelRequest) -> str:
        world.add(AHMAD)
        return "Heads"

    world = playing(tosses(10), joins, tosses(10), chat={"visibility": "private"})
    world.known(HUSAM, AHMAD)
    ask(world)
    [run] = world.runs("chat_1")
    assert (run.rebuilds, run.status) == (1, "done")
    assert len(world.service.requests) == 12


def test_bit_limit_does_not_apply_to_run_without_private_content() -> None:
    world = playing(tosses(14), chat={})
    ask(world)
    assert len(world.service.requests) == 14


def test_bit_limit_does_not_apply_to_service_that_keeps_data_by_person() -> None:
    world = playing(tosses(14), tools=[closed_tool(privacy="keeps_by_person")])
    ask(world)
    assert len(world.service.requests) == 14


@pytest.mark.parametrize(
    ("tools", "most"),
    [
        ([closed_tool(properties={})], 24),  # called or not: 1 bit
        ([closed_tool(properties={}), closed_tool("dice"), closed_tool("card")], 12),
        ([closed_tool(properties=COIN, optional=["side"])], 9),  # 1 + log2(3)
        ([closed_tool(properties={"side": {"type": "string", "enum": [*"abcdefgh"]}})], 6),
        ([closed_tool(properties={}), closed_tool("dice", privacy="keeps_by_person")], 24),
    ],
)
def test_call_costs_the_choice_of_its_tool_and_of_each_value(
    tools: list[dict[str, Any]], most: int
) -> None:
    properties = tools[0]["parameters"]["properties"]
    given = {"side": True if properties == COIN else "a"} if properties else {}
    often = calls(*(("coin", given) for _ in range(15)))
    world = playing(often, often, tools=tools)
    ask(world)
    assert len(world.service.requests) == most


def test_worker_that_takes_over_makes_the_calls_that_were_counted() -> None:
    """The service has got the first of 12 calls when the worker dies."""
    world = playing(tosses(12))

    def killed(_: HttpRequest) -> HttpAnswer:
        world.service.answer = lambda _: json_answer("heads")
        raise Killed("send")

    world.service.answer = killed
    world.post("Play", HUSAM)
    with pytest.raises(Killed):
        world.drain()
    world.clock.advance(300)
    world.tick()
    world.drain()
    assert statuses(world) == ["done"] * 12


def test_person_has_bits_for_ten_whole_runs_a_day() -> None:
    world = playing(*[tosses(12), "Done."] * 11, tosses(12))
    for n in range(11):
        ask(world, f"Play {n}")
    assert len(world.service.requests) == 120
    assert statuses(world)[-12:] == ["failed"] * 12
    world.clock.advance(86_400)
    ask(world, "Play on the next day")
    assert len(world.service.requests) == 132


def test_equal_arguments_are_sent_in_one_canonical_form() -> None:
    """Neither their order nor the way in which a number is written is the model's choice."""
    sides = {"type": "integer", "enum": [1, 2]}
    tool = closed_tool(properties={"one": sides, "two": sides})
    written = ('{"one": 1, "two": 2}', '{"two": 2.0, "one": 1e0, "one_more": null}')
    world = playing(calls(*(("coin", each) for each in written)), tools=[tool])
    ask(world)
    assert [each.body for each in world.service.requests] == [b'{"one": 1, "two": 2}'] * 2
