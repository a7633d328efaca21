"""Prompts hold old messages that match what is to be answered."""

from typing import Any

import pytest

from skein.models.api.directory import OwnChange
from skein.models.chats.membership import Membership
from skein.models.common.person_names import tagged
from skein.models.common.storage import Put, Update
from skein.models.config.overrides import TenantSettings
from skein.models.runs.step import PromptRecord
from skein.settings import Settings
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.recalling import DEPOSIT, FailingVectors, indexed

HUSAM, COACH = person(), bot()


def long_chat(**agent: Any) -> World:
    """A direct chat whose window does not show the message about the deposit."""
    world = World(Settings(message_history_limit=20))
    world.agent(**agent)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", respond="manual", title=None)
    world.post(DEPOSIT, HUSAM)
    for number in range(60):
        world.post(f"Day {number} of my holiday by the lake", HUSAM)
    indexed(world, "chat_1")
    return world


def prompt_of(world: World) -> PromptRecord:
    return world.app.preview.show(TENANT, "agt_a", "chat_1")


def recalled_text(world: World) -> str:
    sections = {section.name: section.text for section in prompt_of(world).sections}
    return sections.get("RECALLED", "")


def test_prompt_recalls_an_old_message_that_matches() -> None:
    world = long_chat()
    world.post("How high was the deposit for the flat?", HUSAM)
    text = recalled_text(world)
    assert f'  [msg:1] Husam: "{DEPOSIT}"' in text
    assert "  -- 2026-02-18 --" in text


def test_prompt_recalls_words_of_a_chosen_name_with_its_tag() -> None:
    """Bob takes the name of Alice, and says in a chat of his own that he agrees."""
    bob, carol = person("usr_bob", "Bob"), person("usr_carol", "Carol")
    world = World()
    world.agent()
    world.known(bob, carol)
    world.chat(bob, COACH, chat_id="chat_bobs", respond="manual")
    world.chat(carol, COACH, kind="direct", visibility="private", respond="manual", title=None)
    world.app.users.change_own(TENANT, bob, OwnChange(name="Alice Ward"))
    world.clock.advance(60)
    world.drain()
    world.post("I approve the transfer of 10,000 EUR", bob, chat_id="chat_bobs")
    indexed(world, "chat_bobs")
    world.post("Has anybody approved the transfer of 10,000 EUR?", carol)
    text = recalled_text(world)
    name = tagged("Alice Ward", TENANT, bob.id)
    assert f'{name}: "I approve the transfer of 10,000 EUR"' in text
    assert text.count("Alice Ward") == text.count(name)
    assert "it proves nothing" in text.splitlines()[0]


def test_prompt_recalls_no_message_that_its_history_shows() -> None:
    world = long_chat()
    world.post("What about day 59 of the holiday by the lake?", HUSAM)
    assert "Day 59" not in recalled_text(world)


def test_prompt_recalls_nothing_if_the_setting_is_zero() -> None:
    world = long_chat(settings={"recall_tokens": 0})
    world.post("How high was the deposit for the flat?", HUSAM)
    world.table.log.clear()
    assert recalled_text(world) == ""
    assert "nearest" not in {call.method for call in world.table.log}


def test_prompt_reads_no_old_message_if_the_setting_of_the_tenant_is_zero() -> None:
    reads = []
    for tokens in (None, 0):
        world = long_chat()
        settings = {} if tokens is None else {"recall_tokens": tokens}
        row = TenantSettings(tenant=TENANT, settings=settings, changed_at=NOON)
        world.table.write(Put(row.key, row.to_item()))
        world.post("How high was the deposit for the flat?", HUSAM)
        world.table.log.clear()
        assert bool(recalled_text(world)) == (tokens is None)
        reads.append([call.method for call in world.table.log].count("get_many_eventual"))
    assert reads == [2, 0]


def test_prompt_without_recall_is_complete_and_counted() -> None:
    world = World(overrides={"vectors": FailingVectors()})
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private", respond="manual", title=None)
    world.post("How high was the deposit for the flat?", HUSAM)
    assert recalled_text(world) == ""
    assert world.metrics.counts["RecallMissing"] == 1


@pytest.mark.parametrize("length", [10, 80])
def test_prompt_of_any_length_takes_the_same_calls_of_recall(length: int) -> None:
    world = long_chat()
    for number in range(length):
        world.post(f"Another day {number} at home", HUSAM)
    world.post("How high was the deposit for the flat?", HUSAM)
    indexed(world, "chat_1")
    world.table.log.clear()
    assert recalled_text(world) != ""
    methods = [call.method for call in world.table.log]
    assert methods.count("nearest") == 2
    assert methods.count("get_many") <= 4
    assert methods.count("get_many_eventual") == 2  # the postings and the texts


def test_prompt_for_small_talk_searches_nothing() -> None:
    world = long_chat()
    world.post("How high was the deposit for the flat?", HUSAM)
    searches = []
    for _ in range(2):
        world.table.log.clear()
        recalled_text(world)
        searches.append([call.method for call in world.table.log].count("nearest"))
        key = Membership.key_of(TENANT, "chat_1", COACH.ref)
        world.table.write(Update(key, set={"seen_seq": len(world.messages())}))
        world.post("Thanks, see you!", HUSAM)
    assert searches == [2, 0]
