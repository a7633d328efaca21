"""Invitations name people: an erasure ends them on both sides, and an export has them."""

import re

import pytest

from skein.models.chats.person_choices import PersonChoices
from skein.privacy.export import Exports
from tests.support.api_client import operator
from tests.support.builders import TENANT, World, bot, person
from tests.support.erasure import BEN, ZOE, erase, traces
from tests.support.first_contact import SARAH, reachable, text_in

COACH = bot()
DAY = 24 * 3_600


def invited() -> World:
    """Ben invites Zoë into his open group."""
    world = World()
    world.agent()
    world.known(ZOE, BEN)
    world.chat(BEN, COACH, title="Bens", respond="manual")
    world.app.chat_admin.add_member(TENANT, "chat_1", BEN, ZOE.ref)
    return world


@pytest.mark.parametrize("days", [0, 2])
def test_erasure_of_an_invited_person_leaves_no_trace_in_the_chat(days: int) -> None:
    world = invited()
    world.clock.advance(days * DAY)
    assert traces(world)
    erasure = erase(world)
    assert erasure.sweeps[0].counts["invitations"] == 1
    assert traces(world) == {}
    assert world.stored_chat().roster == (BEN, COACH)


def test_erasure_of_the_one_who_invites_ends_the_invitation() -> None:
    world = invited()
    world.chat(ZOE, COACH, chat_id="chat_2", title="Club", respond="manual")
    carol = person("usr_carol", "Carol")
    world.known(carol)
    world.app.chat_admin.add_member(TENANT, "chat_2", ZOE, carol.ref)
    erase(world)
    assert traces(world) == {}
    assert world.stored_chat("chat_2").invited == ()
    item = world.table.get(PersonChoices.key_of(TENANT, carol.id))
    assert item is not None
    assert PersonChoices.from_item(item).open == ()


def test_erasure_of_the_one_who_invites_leaves_no_id_in_texts_to_others() -> None:
    world = World()
    world.agent()
    world.line()
    reachable(world)
    text_in(world, "START")
    world.known(ZOE)
    world.chat(ZOE, title="Club", respond="manual")
    world.app.chat_admin.add_member(TENANT, "chat_1", ZOE, person(SARAH).ref)
    world.drain()
    [code] = re.findall(r"Reply (\d+)", world.sms.bodies[-1])
    text_in(world, code, "SM2")
    world.drain()
    assert world.sms.bodies[-1].startswith("Zoë Quill invites you")
    erase(world)
    assert ZOE.id not in str(traces(world))


def test_export_has_the_invitations_of_a_person() -> None:
    world = invited()
    [(chat, entry)] = world.app.get(Exports).page(TENANT, ZOE.id).invitations
    assert (chat.id, entry.by) == ("chat_1", BEN)
    shown = operator(world).get(f"/v1/users/{ZOE.id}/export").body["invitations"]
    assert shown == [
        {
            "chat_id": "chat_1",
            "by": {"kind": "user", "id": BEN.id, "name": "Ben"},
            "at": "2026-02-18T12:00:00.000Z",
            "expires_at": "2026-02-19T12:00:00.000Z",
        }
    ]
    assert world.app.get(Exports).page(TENANT, BEN.id).invitations == []
