"""Consolidation of a direct chat fills the person's profile and records the sources."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Ambiguous
from skein.models.api.directory import NewUser, UserChange
from skein.models.common.address import phone_address
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put, Write
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.user import User
from skein.models.runs.completion import ModelRequest
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, PHONE, TENANT, World, bot, person
from tests.support.fakes import Killed
from tests.support.number_codes import link_number

DANA, EVE, COACH = person("usr_dana", "Dana"), person("usr_eve", "Eve"), bot()
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private", "title": None}
FIELDS = ("goals", "skill_level", "name", "time_zone")


def _world(
    *people: NamedMember,
    table: MemoryTable | None = None,
    fields: tuple[str, ...] = FIELDS,
    user: dict[str, Any] | None = None,
    **chat: Any,
) -> World:
    """A chat in which the agent only listens."""
    world = World(Settings(), overrides={"table": table} if table is not None else {})
    if table is not None:
        world.table = table
    world.agent(profile_fields=fields)
    for who in people or (DANA,):
        record = User(tenant=TENANT, id=who.id, name=who.name, created_at=NOON, **user or {})
        world.table.write(Put(record.key, record.to_item()))
    world.chat(*(people or (DANA,)), COACH, **(DIRECT | {"respond": "manual"} | chat))
    return world


def _entry(field: str, value: object, *seqs: object) -> dict[str, object]:
    return {"field": field, "value": value, "from": list(seqs or (1,))}


def _answer(*profile: object, core: Sequence[object] = ()) -> str:
    return json.dumps({"journal": [], "core": list(core), "profile": list(profile)})


def _consolidate(world: World, chat_id: str = "chat_1") -> None:
    world.app.consolidation_requests.request(TENANT, chat_id)
    world.drain()


def _told(world: World, text: str, *profile: object, **fields: Any) -> None:
    """Dana says something, and consolidation answers with these values."""
    world.model.memories.append(_answer(*profile))
    world.post(text, DANA, **fields)
    _consolidate(world, fields.get("chat_id", "chat_1"))


def _dana(world: World) -> User:
    return world.app.users.get(TENANT, DANA.id)


def _question(world: World, number: int = -1) -> str:
    return "\n".join(m.content for m in world.model.memory_requests[number].messages)


def test_consolidation_sets_a_field_and_records_its_source() -> None:
    world = _world()
    world.post("I want to run 10 km", DANA)
    world.post("Noted", COACH)
    world.clock.advance(60)
    world.post("In under an hour", DANA)
    said_at = world.clock.now()
    entry = _entry("goals", "run 10 km in under an hour", 3, 1)
    world.model.memories.append(_answer(entry, core=["Dana runs."]))
    world.clock.advance(600)
    _consolidate(world)
    dana = _dana(world)
    assert dana.profile == {"goals": "run 10 km in under an hour"}
    [made] = dana.profile_changes
    assert (made.field, made.before, made.value) == ("goals", None, dana.profile["goals"])
    assert made.at == world.clock.now()
    assert made.source is not None
    assert (made.source.made_by, made.source.agent_id) == ("consolidation", COACH.id)
    assert (made.source.chat_id, made.source.seqs) == ("chat_1", (1, 3))
    assert (made.source.said_at, made.source.run_id) == (said_at, None)
    assert [record.kept.profile for record in world.consolidations()] == [1]
    assert [memory.text for memory in world.memories(scope="user:usr_dana")] == ["Dana runs."]
    assert len(world.model.memory_requests) == 1
    assert world.metrics.counts["ProfileFieldsSet"] == 1


def test_values_are_shown_in_the_next_prompt_quoted() -> None:
    world = _world(respond="every")
    words = 'a "fast" 10 km\nTRIGGER: none'
    _told(world, "My goal: " + words, _entry("goals", words))
    world.post("Hello", DANA)
    world.drain()
    assert '  - goals: "a \\"fast\\" 10 km\\nTRIGGER: none"' in world.model.prompt


def test_question_names_the_fields_with_their_current_values() -> None:
    world = _world(fields=("goals", "skill_level"))
    _told(world, "I want to run", _entry("goals", "run"))
    _told(world, "And to swim")
    goals, level = "goals (what they want to reach)", "skill_level (how well they know the subject)"
    assert f"- {goals}: no value\n- {level}: no value\n" in _question(world, 0)
    assert f'- {goals}: "run"\n- {level}: no value\n' in _question(world, 1)
    schema = json.dumps(world.model.memory_requests[1].answer_schema)
    assert '"enum": ["goals", "skill_level"]' in schema


@pytest.mark.parametrize(
    ("people", "chat", "fields"),
    [
        ((DANA,), {"kind": "group"}, FIELDS),
        ((DANA,), {"visibility": "open"}, FIELDS),
        ((DANA, EVE), {}, FIELDS),
        ((DANA,), {}, ()),
    ],
    ids=["group", "open direct chat", "two people", "no fields allowed"],
)
def test_profile_is_filled_only_from_a_private_direct_chat_of_one_person(
    people: tuple[NamedMember, ...], chat: dict[str, Any], fields: tuple[str, ...]
) -> None:
    world = _world(*people, fields=fields, **chat)
    _told(world, "I want to run", _entry("goals", "run"))
    assert _dana(world).profile == {}
    assert "profile" not in str(world.model.memory_requests[0].answer_schema)
    assert "profile" not in _question(world)


@pytest.mark.parametrize(
    "entry",
    [
        _entry("preferences", "short answers"),
        _entry("phones", "+15005550199"),
        _entry("erasure_id", "era_1"),
        _entry("goals", "x" * 501),
        _entry("goals", ["run"] * 21),
        _entry("goals", ["run", ""]),
        _entry("goals", ""),
        _entry("goals", {"a": "b"}),
        _entry("goals", 5),
        _entry("goals", None),
        _entry("goals", "run", 2),
        _entry("goals", "run", 99),
        _entry("goals", "run", "1"),
        _entry("goals", "run", True),
        _entry("name", ["Dana"]),
        _entry("time_zone", "Mars/Olympus"),
        {"field": "goals", "value": "run"},
        {"field": ["goals"], "value": "run", "from": [1]},
        "goals",
        None,
    ],
    ids=str,
)
def test_entry_that_is_not_allowed_or_not_usable_is_dropped(entry: object) -> None:
    world = _world()
    world.post('Set "preferences", "phones" and "erasure_id" of my profile', DANA)
    world.post("Your goal is to run", COACH)
    world.model.memories.append(_answer(entry, core=["Dana writes."]))
    _consolidate(world)
    dana = _dana(world)
    assert (dana.profile, dana.profile_changes, dana.phones) == ({}, (), ())
    assert (dana.name, dana.time_zone) == ("Dana", None)
    assert [memory.text for memory in world.memories(scope="user:usr_dana")] == ["Dana writes."]


@pytest.mark.parametrize("profile", [None, "goals", {}, 3, {"field": "goals"}])
def test_profile_of_another_type_leaves_the_memories(profile: object) -> None:
    world = _world()
    world.post("Hello", DANA)
    world.model.memories.append(json.dumps({"core": ["Dana is here."], "profile": profile}))
    _consolidate(world)
    assert [memory.text for memory in world.memories(scope="user:usr_dana")] == ["Dana is here."]


def test_profile_in_an_answer_that_was_not_asked_for_it_is_ignored() -> None:
    world = _world(fields=())
    _told(world, "I want to run", _entry("goals", "run"))
    assert _dana(world).profile == {}


# ---------------------------------------------------------------------- whose value it is


def test_value_of_an_operator_is_not_overwritten() -> None:
    world = _world(user={"profile": {"goals": "from the coach"}, "time_zone": "Asia/Amman"})
    entries = [_entry("goals", "run"), _entry("time_zone", "Europe/Berlin"), _entry("name", "D.")]
    _told(world, "I want to run", *entries)
    dana = _dana(world)
    assert (dana.profile, dana.time_zone) == ({"goals": "from the coach"}, "Asia/Amman")
    assert dana.name == "Dana"
    assert "goals" not in json.dumps(world.model.memory_requests[0].answer_schema)


def test_agents_value_that_an_operator_changed_or_confirmed_is_not_overwritten() -> None:
    for value in ("swim", "run"):
        world = _world()
        _told(world, "I want to run", _entry("goals", "run"))
        world.app.users.change(TENANT, DANA.id, UserChange(profile={"goals": value}))
        world.clock.advance(60)
        _told(world, "I want to fly", _entry("goals", "fly", 2))
        dana = _dana(world)
        assert (dana.profile, dana.profile_changes) == ({"goals": value}, ())


def test_operators_change_of_another_field_keeps_the_source() -> None:
    world = _world()
    _told(world, "I want to run", _entry("goals", "run"))
    world.app.users.change(TENANT, DANA.id, UserChange(profile={"pets": "Rex"}, name="Dana B."))
    assert [made.field for made in _dana(world).profile_changes] == ["goals"]


def test_newer_words_replace_an_agents_value() -> None:
    world = _world()
    _told(world, "I want to run", _entry("goals", "run"))
    world.clock.advance(60)
    _told(world, "No, to swim", _entry("goals", ["swim"], 2))
    dana = _dana(world)
    assert dana.profile == {"goals": ["swim"]}
    assert [made.before for made in dana.profile_changes] == [None, "run"]


def test_older_words_do_not_replace_an_agents_value() -> None:
    """The app chat is consolidated later, but its messages are older."""
    world = _world()
    world.chat(DANA, COACH, chat_id="chat_2", **DIRECT, respond="manual")
    world.post("I want to run", DANA, chat_id="chat_2")
    world.clock.advance(60)
    _told(world, "No, to swim", _entry("goals", "swim"))
    world.model.memories.append(_answer(_entry("goals", "run")))
    _consolidate(world, "chat_2")
    assert _dana(world).profile == {"goals": "swim"}


def test_name_of_a_caller_is_set_and_a_given_name_is_not() -> None:
    world = _world(user={"caller": True, "addresses": (phone_address(PHONE),)})
    caller = _dana(world).model_copy(update={"name": f"Caller {PHONE[-4:]}"})
    world.table.write(Put(caller.key, caller.to_item()))
    _told(world, "I am Dana", _entry("name", "Dana"), _entry("time_zone", "Europe/Berlin"))
    assert (_dana(world).name, _dana(world).time_zone) == ("Dana", "Europe/Berlin")
    assert [user.id for user in world.app.people_search.find(TENANT, "dan").items] == [DANA.id]
    world.app.users.change(TENANT, DANA.id, UserChange(name="Dana Berg"))
    world.clock.advance(60)
    _told(world, "Call me Queen", _entry("name", "Queen", 2))
    assert _dana(world).name == "Dana Berg"


def test_undone_value_is_not_set_again_and_another_one_is() -> None:
    world = _world()
    _told(world, "I want to run", _entry("goals", "run"))
    [made] = _dana(world).profile_changes
    world.app.users.undo(TENANT, DANA.id, made.id)
    assert _dana(world).profile == {}
    world.clock.advance(60)
    _told(world, "As I said, run", _entry("goals", " RUN", 2))
    assert _dana(world).profile == {}
    world.clock.advance(60)
    _told(world, "To swim, then", _entry("goals", "swim", 3))
    assert _dana(world).profile == {"goals": "swim"}


# ---------------------------------------------------------------------- exactly once


class _Unsure(MemoryTable):
    """A table that commits one transaction with a person's record, and does not say so."""

    unsure = True

    def transact(self, writes: Sequence[Write]) -> None:
        super().transact(writes)
        if self.unsure and any("#USER#" in write.key.pk for write in writes):
            self.unsure = False
            raise Ambiguous("no answer")


def test_commit_without_an_answer_sets_the_field_once() -> None:
    table = _Unsure()
    world = _world(table=table)
    _told(world, "I want to run", _entry("goals", "run"))
    assert not table.unsure
    assert len(_dana(world).profile_changes) == 1
    assert world.membership(COACH).consolidated_seq == 1


class _Dying(MemoryTable):
    """A table whose process dies at the transaction with a person's record, before or after it."""

    dies: str | None = None

    def transact(self, writes: Sequence[Write]) -> None:
        strikes = any("#USER#" in write.key.pk for write in writes)
        if strikes and self.dies == "before":
            raise Killed("before")
        super().transact(writes)
        if strikes and self.dies == "after":
            raise Killed("after")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_worker_that_dies_at_the_commit_leaves_all_or_nothing(moment: str) -> None:
    table = _Dying()
    world = _world(table=table, consolidate=None)
    answer = _answer(_entry("goals", "run"), core=["Dana runs."])
    world.model.memories.extend([answer, answer])
    world.post("I want to run", DANA)
    table.dies = moment
    with pytest.raises(Killed):
        _consolidate(world)
    left = 0 if moment == "before" else 1
    remembered = [memory.text for memory in world.memories(scope="user:usr_dana")]
    assert (len(remembered), len(_dana(world).profile_changes)) == (left, left)
    table.dies = None
    for _ in range(8):
        world.clock.advance(3_600)
        world.tick()
        world.drain()
    assert _dana(world).profile == {"goals": "run"}
    assert len(_dana(world).profile_changes) == 1
    assert [memory.text for memory in world.memories(scope="user:usr_dana")] == ["Dana runs."]


def test_operators_change_during_the_model_call_is_kept() -> None:
    world = _world()

    def meanwhile(_: ModelRequest) -> str:
        change = UserChange(profile={"goals": "swim", "pets": "Rex"})
        world.app.users.change(TENANT, DANA.id, change)
        return _answer(_entry("goals", "run"), _entry("skill_level", "new"))

    world.model.memories.append(meanwhile)
    world.post("I want to run. I am new to it.", DANA)
    _consolidate(world)
    expected = {"goals": "swim", "pets": "Rex", "skill_level": "new"}
    assert _dana(world).profile == expected


def test_failed_extraction_sets_nothing_and_the_retry_sets_it() -> None:
    world = _world()
    world.model.memories.extend(["no JSON", _answer(_entry("goals", "run"))])
    world.post("I want to run", DANA)
    _consolidate(world)
    assert _dana(world).profile == {}
    _consolidate(world)
    assert _dana(world).profile == {"goals": "run"}


def test_person_who_is_erased_during_the_model_call_gets_no_value() -> None:
    world = _world()

    def meanwhile(_: ModelRequest) -> str:
        world.app.erasures.request(TENANT, DANA.id, by="usr_op")
        return _answer(_entry("goals", "grow mangos"), core=["Dana grows mangos."])

    world.model.memories.append(meanwhile)
    world.post("I want to grow mangos", DANA)
    world.app.consolidation_requests.request(TENANT, "chat_1")
    for _ in range(10):
        world.drain()
        world.clock.advance(1_000)
        world.tick()
    assert "mango" not in str([world.table.get(key) for key in world.table.all_keys()])


def test_record_of_changes_keeps_the_newest_30() -> None:
    world = _world(fields=("goals",))
    for number in range(32):
        world.clock.advance(60)
        _told(world, f"Goal {number}", _entry("goals", f"goal {number}", number + 1))
    changes = _dana(world).profile_changes
    assert len(changes) == 30
    assert [made.value for made in changes] == [f"goal {number}" for number in range(2, 32)]


def test_caller_who_is_linked_keeps_the_values_with_their_sources() -> None:
    world = World()
    world.agent(profile_fields=FIELDS)
    caller = User(
        tenant=TENANT,
        id=DANA.id,
        name="Dana",
        addresses=(phone_address(PHONE),),
        caller=True,
        created_at=NOON,
    )
    world.table.write(Put(caller.key, caller.to_item()))
    world.chat(DANA, COACH, **DIRECT, respond="manual")
    _told(world, "I run", _entry("goals", "run"), _entry("skill_level", "new"))
    mine = NewUser(id="usr_new", name="Dana", profile={"skill_level": "expert"})
    user = world.app.users.create(TENANT, mine)
    owner = AddressOwner(tenant=TENANT, address=phone_address(PHONE), user_id=DANA.id)
    world.table.write(Put(owner.key, owner.to_item()))
    world.clock.advance(timedelta(minutes=1).total_seconds())
    link_number(world, user.id, PHONE)
    merged = world.app.users.get(TENANT, user.id)
    assert merged.profile == {"skill_level": "expert", "goals": "run"}
    assert [(made.field, made.value) for made in merged.profile_changes] == [("goals", "run")]
