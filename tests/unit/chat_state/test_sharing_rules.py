"""Who may be told what, decided by roles, subjects, notices, talks and their time."""

from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from skein.models.chats.chat import Chat
from skein.models.chats.sharing import MAX_RANGES, SeqSpan, SharingState
from skein.models.config.sharing import SharingParty, SharingRule
from skein.models.directory.role import HeldRole, Role
from skein.models.directory.user import User
from skein.services.chat_state.sharing_rules import (
    MAX_PARTITIONS,
    AuthorRules,
    PersonRoles,
    ReaderRules,
    SaidMessage,
    may_tell,
)
from skein.settings import Settings
from tests.support.builders import NOON, TENANT
from tests.support.family import COACH, EMMA, Family, chat_of

PAUSE = timedelta(minutes=15)
SAID = 5  # the message, two after the notice


def roles(user_id: str, *held: tuple[str, str | None]) -> PersonRoles:
    return PersonRoles(user_id, tuple(Role(role=role, subject=about) for role, about in held))


def rule(whose: Any = "nurse", to: Any = "doctor", **more: Any) -> SharingRule:
    given = {"from": {"role": whose}, "to": {"role": to}, "begins_at": NOON} | more
    return SharingRule.model_validate({"id": "shr_1", "name": "n", "reason": "r"} | given)


NURSE, DOCTOR = roles("usr_n", ("nurse", "usr_p")), roles("usr_d", ("doctor", "usr_p"))
BOTH = roles("usr_d", ("doctor", "usr_p"), ("doctor", "usr_q"))


@pytest.mark.parametrize(
    ("given", "author", "reader", "told"),
    [
        (rule(), NURSE, DOCTOR, True),
        (rule(), DOCTOR, NURSE, False),
        (rule(), NURSE, roles("usr_d"), False),
        (rule(to="nurse"), NURSE, NURSE, False),
        (rule(to="nurse"), NURSE, roles("usr_m", ("nurse", None)), True),
        (rule(same_subject=True), NURSE, DOCTOR, True),
        (rule(same_subject=True), NURSE, BOTH, False),
        (rule(same_subject=True), NURSE, roles("usr_d", ("doctor", "usr_q")), False),
        (rule(same_subject=True), roles("usr_n", ("nurse", None)), DOCTOR, False),
        (rule(**{"from": {"user_id": "usr_n"}}), roles("usr_n"), DOCTOR, True),
        (rule(to="x", **{"from": {"user_id": "usr_m"}}), NURSE, DOCTOR, False),
    ],
)
def test_rule_needs_both_roles_and_one_subject(
    given: SharingRule, author: PersonRoles, reader: PersonRoles, told: bool
) -> None:
    assert may_tell(given, author, reader) is told


@cache
def _emmas() -> Chat:
    return Family.made().stored_chat(chat_of(EMMA))


def _chat(sharing: SharingState | None, **more: Any) -> Chat:
    return _emmas().model_copy(update={"sharing": sharing} | more)


STATE = SharingState(person_id=EMMA.id, noticed={"shr_1": 3}, talk_from=4, spoke_at=NOON)


@pytest.mark.parametrize(
    ("change", "chat", "minutes", "told"),
    [
        ({}, {}, 15, True),
        ({}, {}, 14, False),
        ({"talk_from": 6}, {}, 0, True),
        ({"noticed": {}}, {}, 15, False),
        ({"noticed": {"shr_1": SAID}}, {}, 15, False),
        ({"noticed": {"shr_1": SAID}, "opened": {"shr_1": SAID}}, {}, 15, True),
        ({"private": True}, {}, 15, False),
        ({"private": True, "talk_from": 6}, {}, 15, True),
        ({"kept": (SeqSpan(first_seq=SAID, last_seq=SAID),)}, {}, 15, False),
        ({"person_id": "usr_former"}, {}, 15, False),
        ({}, {"kind": "group"}, 15, False),
        ({}, {"visibility": "open"}, 15, False),
        ({}, {"roster": (COACH,)}, 15, False),
        ({}, {"discarded_at": NOON}, 15, False),
    ],
)
def test_words_are_told_after_notice_and_quiet_time_unless_kept(
    change: dict[str, Any], chat: dict[str, Any], minutes: int, told: bool
) -> None:
    held = HeldRole(role="nurse", since=NOON)
    emma = User(tenant=TENANT, id=EMMA.id, name="Emma", created_at=NOON, roles=(held,))
    now = NOON + timedelta(minutes=minutes)
    author = AuthorRules(emma, (rule(),), now, Settings())
    said = SaidMessage(SAID, EMMA.id, NOON)
    found = author.rules_of(_chat(STATE.model_copy(update=change), **chat), said)
    assert bool(found) is told
    before = SaidMessage(SAID, EMMA.id, NOON - timedelta(seconds=1))
    assert author.rules_of(_chat(STATE), before) == ()  # the role began later
    assert author.rules_of(_chat(None), said) == ()


def test_what_several_messages_made_is_told_only_where_each_of_them_is() -> None:
    held = HeldRole(role="nurse", since=NOON)
    emma = User(tenant=TENANT, id=EMMA.id, name="Emma", created_at=NOON, roles=(held,))
    now, said = NOON + PAUSE, [SaidMessage(seq, EMMA.id, NOON) for seq in (SAID, SAID + 1)]
    author = AuthorRules(emma, (rule(),), now, Settings())
    readers = ReaderRules((rule(),), (DOCTOR,), 1, now, Settings())
    kept = STATE.model_copy(update={"kept": (SeqSpan(first_seq=SAID, last_seq=SAID),)})
    for state, told in ((STATE, True), (kept, False)):
        assert bool(author.partitions(_chat(state), said, "agt_a")) is told
        assert bool(readers.rules_for_all(_chat(state), said, emma)) is told
    assert author.partitions(_chat(STATE), [said[0], None], "agt_a") == ()
    assert readers.rules_for_all(_chat(STATE), [], emma) == ()


def test_readers_search_what_all_of_them_may_be_told_in_at_most_eight_partitions() -> None:
    rules = tuple(rule(whose=f"role {n}") for n in range(10))
    one = ReaderRules(rules, (DOCTOR,), 1, NOON, Settings())
    assert len(one.partitions(TENANT, "agt_a")) == MAX_PARTITIONS
    nobody = ReaderRules(rules, (DOCTOR, NURSE), 1, NOON, Settings())
    assert nobody.partitions(TENANT, "agt_a") == ()


def test_talk_that_was_kept_stays_kept_and_the_next_one_is_told() -> None:
    private = STATE.model_copy(update={"private": True})
    assert private.spoken(7, NOON + PAUSE - timedelta(seconds=1), PAUSE).private
    later = private.spoken(7, NOON + PAUSE, PAUSE)
    assert (later.private, later.talk_from, later.before) == (False, 7, 4)
    assert [seq for seq in range(3, 9) if later.keeps(seq)] == [4, 5, 6]


def test_too_many_kept_ranges_widen_to_one() -> None:
    state = STATE
    for n in range(MAX_RANGES):
        state = state.withdrawn(3 * n + 1, 3 * n + 1)
    assert len(state.kept) == MAX_RANGES
    assert len(state.withdrawn(2, 3).kept) == MAX_RANGES - 1  # joins two
    widened = state.withdrawn(400, 401)
    assert widened.kept == (SeqSpan(first_seq=1, last_seq=401),)


@pytest.mark.parametrize("given", [{}, {"role": "nurse", "user_id": "usr_n"}])
def test_side_of_a_rule_is_a_role_or_a_person(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="either a role or a user_id"):
        SharingParty.model_validate(given)
