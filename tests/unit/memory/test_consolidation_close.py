"""Consolidation shows the model core memories that it may repeat or contradict."""

import json
from datetime import timedelta

import pytest

from skein.memory import shown
from skein.models.visibility.ownership import Owner
from skein.services.common import text_search
from skein.services.common.text_search import EmbeddingCache, closest
from tests.support.builders import NOON, TENANT, World, embeddings
from tests.support.consolidation import COACH, HUSAM, asked, group, quiet, remembers, texts

OWNER = Owner(tenant=TENANT, agent_id=COACH.id, source_chat_id="chat_1")
OLD = "Dana lives in Lyon with her two sons."
FIRST = "Compare the conversation with these first"


def known(world: World, *core: str) -> None:
    """Add core memories, a day after one another."""
    for text in core:
        world.app.memories.add(OWNER, text, "core", made_by="tool")
        world.clock.advance(timedelta(days=1).total_seconds())


def test_close_core_memory_is_named_with_its_date() -> None:
    world = group()
    known(world, OLD, "Invoices go out on the first of the month.")
    world.model.memories.append(remembers())
    world.post("Dana has moved, she lives in Porto now", HUSAM)
    quiet(world)
    assert f'1. [{NOON:%Y-%m-%d}] "{OLD}"' in asked(world)
    assert f"{FIRST}, because they are about similar things: 1." in asked(world)


def test_close_core_memory_beyond_the_budget_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "CORE_MEMORY_TOKENS", 100)
    world = group()
    newer = [f"On day {n} the office is closed, and nobody answers the phone." for n in range(12)]
    known(world, OLD, "Invoices go out on Mondays.", *newer)
    world.model.memories.append(remembers({"text": "Dana lives in Porto.", "replaces": 1}))
    world.post("Dana has moved, she lives in Porto now", HUSAM)
    quiet(world)
    assert OLD in asked(world)
    assert "Mondays" not in asked(world)
    assert OLD not in texts(world)
    assert "Dana lives in Porto." in texts(world)


def test_consolidation_without_close_memories_names_none() -> None:
    world = group()
    known(world, OLD)
    world.model.memories.append(remembers())
    world.post("The printer needs paper", HUSAM)
    quiet(world)
    assert OLD in asked(world)
    assert FIRST not in asked(world)


def test_similar_memories_stay_unless_the_model_replaces_one() -> None:
    world = group()
    known(world, "30 guests are invited to the party.")
    world.model.memories.append(remembers("31 guests are invited to the party."))
    world.post("31 guests are invited to the party", HUSAM)
    quiet(world)
    assert f"{FIRST}, because they are about similar things: 1." in asked(world)
    assert texts(world) == [
        "30 guests are invited to the party.",
        "31 guests are invited to the party.",
    ]


def test_memories_that_others_must_not_see_are_never_close() -> None:
    world = group()
    secret = OWNER.model_copy(update={"scope": "user:usr_ann"})
    world.app.memories.add(secret, OLD, "core", made_by="api")
    world.model.memories.append(remembers())
    world.post("Dana has moved, she lives in Porto now", HUSAM)
    quiet(world)
    assert "Lyon" not in json.dumps(asked(world))


def test_closest_finds_by_meaning_and_by_rare_words() -> None:
    cache = EmbeddingCache(embeddings)
    memories = ["Dana's dog is called Rex.", "The code of the shed is 4711.", "Ben plays chess."]
    assert closest(memories, ["Our dog Rex has a cold"], 5, cache) == [0]
    assert closest(memories, ["The shed got another code, 4712"], 5, cache) == [1]
    assert closest(memories, ["It rains"], 5, cache) == []
    assert closest(memories, [], 5, cache) == closest([], ["Rex"], 5, cache) == []


def test_closest_compares_the_longest_of_very_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_search, "MAX_COMPARED", 1)
    said = ["Rex!", "A long message about the weather of the last weeks"]
    assert closest(["Dana's dog is called Rex."], said, 5, EmbeddingCache(embeddings)) == []
