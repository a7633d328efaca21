"""Sharing rules and roles name people: an erasure ends them, and an export has them."""

import pytest

from skein.models.common.storage import Item, Key, Update
from skein.models.directory.user import User
from skein.models.visibility.sharing_rules import RulesVersion, SharingRules
from tests.fakes.table import MemoryTable
from tests.support.api_client import operator
from tests.support.builders import TENANT, person
from tests.support.erasure import end, lines_of
from tests.support.family import COACH, EMMA, RINA, TOM, Family, chat_of

SECRET = "The piano lesson with Mrs Okafor moved to Thursday"


def family() -> Family:
    """Emma tells by a rule, two of release 0.3.0 name her, and Rina's role is about her."""
    world = Family.made()
    world.give(RINA, "tutor", subject=EMMA.id)
    rule = world.rule()
    item = world.table.get(SharingRules.key_of(TENANT)) or {}
    own = item["rules"][0] | {"id": "shr_own", "from": {"user_id": EMMA.id}, "own": True}
    to_emma = item["rules"][0] | {"id": "shr_to", "to": {"user_id": EMMA.id}}
    for key, rules in (
        (SharingRules.key_of(TENANT), {"rules": [*item["rules"], own], "ended": [to_emma]}),
        (RulesVersion.key_of(TENANT, 1), {"rules": [own], "changed_by": EMMA.id}),
    ):
        world.table.write(Update(key, set=rules))
    assert world.operator.get(f"/v1/sharing-rules/{rule}").status == 200
    world.clock.advance(1)
    world.tells(EMMA, SECRET)
    assert SECRET in world.prompt_of(TOM, "When is the piano lesson with Mrs Okafor?")
    return world


def test_erased_person_is_in_no_rule_version_or_role() -> None:
    world = family()
    erasure = world.app.erasures.request(TENANT, EMMA.id, by="usr_op")
    world.drain()
    end(world, erasure)
    left = [key for key, text in lines_of(world) if EMMA.id in text and "#ERASURES" not in key]
    assert left == []
    [rule] = world.operator.get("/v1/sharing-rules").body["items"]
    assert rule["from"] == {"role": "daughter"}
    versions = world.operator.get("/v1/sharing-rules/versions").body["items"]
    assert [version["changed_by"] for version in versions] == ["erased"]
    assert world.operator.get(f"/v1/users/{RINA.id}").body["roles"] == []
    assert world.rule(to="mother")  # rules change as before


def test_export_has_rules_and_what_was_told_by_them() -> None:
    world = family()
    shown = operator(world).get(f"/v1/users/{EMMA.id}/export").body
    assert [held["role"] for held in shown["user"]["roles"]] == ["daughter"]
    whom = [rule["shared_with"] for rule in shown["sharing_rules"]]
    assert whom == ["everybody with the role father"]
    [told] = shown["disclosures"]
    assert told["chat_id"] == chat_of(EMMA)
    assert told["shared_with"] == ["Tom"]
    others = operator(world).get(f"/v1/users/{TOM.id}/export").body
    assert (others["sharing_rules"], others["disclosures"]) == ([], [])


def test_erasure_of_a_visitor_reads_no_other_user(monkeypatch: pytest.MonkeyPatch) -> None:
    world = family()
    visitor = person("vis_1", "Visitor")
    world.known(visitor)
    world.chat(visitor, COACH, chat_id="chat_visit", kind="direct", visibility="private")
    world.post("My name is Paola.", visitor, chat_id="chat_visit")
    world.drain()
    exported = operator(world).get(f"/v1/users/{visitor.id}/export").body
    assert "Paola" in str(exported)
    assert not any(word in str(exported) for word in (EMMA.id, TOM.id, SECRET))
    read, get = list[Key](), MemoryTable.get

    def recorded(table: MemoryTable, key: Key) -> Item | None:
        read.append(key)
        return get(table, key)

    monkeypatch.setattr(MemoryTable, "get", recorded)
    erasure = world.app.erasures.request(TENANT, visitor.id, by="usr_op")
    world.drain()
    end(world, erasure)
    assert not {User.key_of(TENANT, each.id) for each in (EMMA, RINA, TOM)} & {*read}
    left = [key for key, text in lines_of(world) if "vis_1" in text and "#ERASURES" not in key]
    assert left == []
    assert "Paola" not in str(world.table.all_stored())
