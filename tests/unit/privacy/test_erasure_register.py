"""A restore brings erased data back, and the erasure register takes the data away again."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.api.directory import NewUser
from skein.models.common.storage import Item, Key, Put
from skein.models.delivery.sms import InboundSms
from skein.models.directory.user import User
from skein.privacy.erasure_register import ErasureRegister
from skein.privacy.erasure_sweep import nobody
from skein.privacy.models.erasure import NamedTexts
from skein.privacy.models.registered_erasure import RegisteredErasure
from tests.support.builders import LINE, TENANT, World
from tests.support.erasure import (
    BEN,
    MARK,
    NUMBER,
    OPEN,
    ZOE,
    backup,
    end,
    erase,
    group,
    indexed,
    plant,
    restoration,
    restored,
    settle,
    text,
    traces,
    world_of,
)
from tests.support.fakes import Fuse
from tests.support.number_codes import link_number
from tools.stack.restore_erasures import IncompleteError, Names, names_of


def entries(world: World) -> list[RegisteredErasure]:
    return list(ErasureRegister(table=world.register).entries())


def test_register_holds_ids_and_times_only() -> None:
    world = world_of()
    text(world, f"I love {MARK}")
    settle(world)
    erasure = erase(world)
    [entry] = entries(world)
    assert (entry.erasure_id, entry.user_ids) == (erasure.id, (ZOE.id,))
    stored = str(world.register.all_stored())
    assert not [trace for trace in ("Quill", "5005550177", MARK) if trace in stored]


def test_erasure_starts_only_when_the_register_has_it() -> None:
    world = World()
    fuse = Fuse()
    guarded = fuse.guard(world.register, "register", ("write",))
    world = World(overrides={"erasure_register": guarded})
    world.known(ZOE)
    group(world, OPEN, ZOE, BEN)
    world.post(MARK, ZOE, chat_id=OPEN)
    fuse.arm(1, after=False, error=Unavailable)
    request = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    with pytest.raises(Unavailable):
        settle(world)
    assert world.messages(OPEN)[0].text == MARK
    fuse.disarm()
    world.clock.advance(6_000)
    assert end(world, request).stage == "done"


def test_entry_of_the_register_never_changes() -> None:
    world = world_of()
    erase(world)
    before = world.register.all_stored()
    [entry] = entries(world)
    erasure = world.app.erasures.get(TENANT, entry.erasure_id)
    again = erasure.model_copy(update={"requested_by": "usr_other"})
    ErasureRegister(table=world.register).record(again, nobody(again))
    assert world.register.all_stored() == before


def test_restored_table_has_no_trace_of_the_person_once_the_register_is_applied() -> None:
    old = plant()
    indexed(old)
    items = backup(old)
    erase(old)
    world = restored(old, items)
    assert traces(world)
    said: list[str] = []
    assert restoration(world, said).run() == {"done": 1}
    settle(world)
    assert traces(world) == {}
    assert said[-1].endswith("done: nothing is left")
    assert [m.text for m in world.messages(OPEN) if m.sender.ref == BEN.ref]


@pytest.mark.parametrize(
    ("named_texts", "kept"),
    [("keep", "Ask Zoë Quill"), ("replace", "Ask [erased]"), ("remove", "")],
)
def test_restore_applies_the_same_decision_about_named_texts(
    named_texts: NamedTexts, kept: str
) -> None:
    old = world_of()
    group(old, OPEN, ZOE, BEN)
    old.post("Ask Zoë Quill", BEN, chat_id=OPEN)
    items = backup(old)
    erase(old, named_texts)
    world = restored(old, items)
    restoration(world).run()
    settle(world)
    assert [message.text for message in world.messages(OPEN)] == [kept]


def test_register_applied_twice_changes_nothing() -> None:
    old = plant()
    items = backup(old)
    erase(old)
    world = restored(old, items)
    restoration(world).run()
    settle(world)
    before = world.table.all_stored()
    assert restoration(world).run() == {"done": 1}
    assert world.table.all_stored() == before


def test_register_applied_to_the_current_table_changes_nothing() -> None:
    world = plant()
    erase(world)
    before = world.table.all_stored()
    assert restoration(world).run() == {"done": 1}
    assert world.table.all_stored() == before


def test_first_sweep_leaves_the_second_one_to_the_stack() -> None:
    old = plant()
    items = backup(old)
    erase(old)
    world = restored(old, items)
    started = world.clock.now()
    assert restoration(world).run(first_sweep=True) == {"swept_once": 1}
    assert world.clock.now() - started < timedelta(minutes=1)
    [entry] = entries(world)
    assert end(world, world.app.erasures.get(TENANT, entry.erasure_id)).stage == "done"
    assert traces(world) == {}


def test_caller_who_was_merged_after_the_restored_moment_is_erased_too() -> None:
    world = world_of()
    text(world, f"I love {MARK}")
    settle(world)
    other = "+15005550178"
    world.app.phone_links.unlink(TENANT, ZOE.id, NUMBER)
    sms = InboundSms(account_sid="AC1", message_sid="SM2", sender=other, recipient=LINE, body=MARK)
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    caller = posted.message.sender.id
    settle(world)
    items = backup(world)
    link_number(world, ZOE.id, other)
    world.clock.advance(2_000)
    world.tick()
    erase(world)
    again = restored(world, items)
    assert traces(again, caller, "5005550178")
    restoration(again).run()
    settle(again)
    assert traces(again, caller, "5005550178") == {}


def test_person_who_came_back_after_the_erasure_is_not_erased() -> None:
    world = plant()
    erase(world)
    world.clock.advance(60)
    world.app.users.create(TENANT, NewUser(id=ZOE.id, name=ZOE.name))
    said: list[str] = []
    assert restoration(world, said).run() == {"another_person": 1}
    assert world.app.users.get(TENANT, ZOE.id).name == ZOE.name
    assert "newer record" in said[-1]


def test_person_whose_record_was_made_after_the_restored_moment_loses_older_chats() -> None:
    old = world_of()
    group(old, OPEN, ZOE, BEN)
    old.post(f"I love {MARK}", ZOE, chat_id=OPEN)
    items = {key: item for key, item in backup(old).items() if key != User.key_of(TENANT, ZOE.id)}
    erase(old)
    world = restored(old, items)
    assert restoration(world).run() == {"done": 1}
    assert world.messages(OPEN)[0].kind == "erased"
    assert world.table.get(User.key_of(TENANT, ZOE.id)) is None


def deleted_message_world() -> tuple[World, dict[Key, Item]]:
    world = world_of()
    world.known(ZOE, BEN)
    group(world, OPEN, ZOE, BEN)
    world.post(f"I love {MARK}", ZOE, chat_id=OPEN)
    items = backup(world)
    world.app.message_deletion.delete(TENANT, ZOE.ref, OPEN, 1)
    for _ in range(3):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    return world, items


def test_deleted_message_is_deleted_again_on_a_restored_table() -> None:
    old, items = deleted_message_world()
    world = restored(old, items)
    assert world.texts(chat_id=OPEN) == [f"I love {MARK}"]
    assert restoration(world).run() == {"done": 1}
    message = world.messages(OPEN)[0]
    assert (message.kind, message.text, message.sender.ref) == ("deleted", "", ZOE.ref)
    assert not [key for key in world.table.all_keys() if "#ERASURES" in key.pk]


@pytest.mark.parametrize("case", ["missing", "chat missing", "another message"])
def test_message_that_was_not_restored_is_left_alone(case: str) -> None:
    old, items = deleted_message_world()
    if case == "chat missing":
        items = {key: item for key, item in items.items() if OPEN not in key.pk}
    else:
        items = {key: item for key, item in items.items() if not key.sk.startswith("MSG#")}
    world = restored(old, items)
    if case == "another message":
        stored: Any = old.table.get(Key(f"{TENANT}#CHAT#{OPEN}", "MSG#000000000001"))
        later = {"kind": "text", "text": "New", "created_at": "2026-03-01T00:00:00Z"}
        world.table.write(Put(Key(stored["pk"], stored["sk"]), stored | later))
    before = world.table.all_stored()
    assert restoration(world).run() == {"nothing_to_erase": 1}
    assert world.table.all_stored() == before


def test_erasure_that_left_something_is_reported_as_incomplete() -> None:
    old = plant()
    items = backup(old)
    erase(old)
    key = User.key_of(TENANT, ZOE.id)
    old.table.write(Put(key, items[key]))
    with pytest.raises(IncompleteError, match="USER"):
        restoration(old).run()


def test_command_finds_both_tables_in_the_outputs_of_the_stack() -> None:
    def described(command: Sequence[str]) -> str:
        assert command[-1] == "skein-staging"
        names = {"TableName": "skein-T", "ErasureRegisterName": "skein-R"}
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in names.items()]
        return json.dumps({"Stacks": [{"Outputs": outputs}]})

    assert names_of("skein-staging", described) == Names("skein-T", "skein-R")
