"""Which words rules share, decided by roles, subjects, notices, conversations and times."""

from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from skein.models.chats.chat import Chat
from skein.models.directory.role import HeldRole, Role
from skein.models.directory.user import User
from skein.models.visibility.refusal import SharingRefusal
from skein.models.visibility.sharing_rules import SharingRule
from skein.models.visibility.talk import MAX_RANGES, SeqSpan, SharingState
from skein.services.visibility.sharing_rules import (
    MAX_PARTITIONS,
    AuthorRules,
    PersonRoles,
    ReaderRules,
    SaidMessage,
    refusal_between,
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
    ],
)
def test_rule_needs_both_roles_and_one_subject(
    given: SharingRule, author: PersonRoles, reader: PersonRoles, told: bool
) -> None:
    assert (refusal_between(given, author, reader) is None) is told


@cache
def _emmas() -> Chat:
    return Family.made().stored_chat(chat_of(EMMA))


def _chat(sharing: SharingState | None, **more: Any) -> Chat:
    return _emmas().model_copy(update={"sharing": sharing} | more)


STATE = SharingState(person_id=EMMA.id, noticed={"shr_1": 3}, talk_from=4, spoke_at=NOON)


NO = SharingRefusal


@pytest.mark.parametrize(
    ("change", "chat", "minutes", "refusal"),
    [
        ({}, {}, 15, None),
        ({}, {}, 14, NO.TALK_NOT_OVER),
        ({"talk_from": 6}, {}, 0, None),
        ({"noticed": {}}, {}, 15, NO.BEFORE_NOTICE),
        ({"noticed": {"shr_1": SAID}}, {}, 15, NO.BEFORE_NOTICE),
        ({"private": True}, {}, 15, NO.PRIVATE),
        ({"private": True, "talk_from": 6}, {}, 15, None),
        ({"kept": (SeqSpan(first_seq=SAID, last_seq=SAID),)}, {}, 15, NO.KEPT),
        ({"person_id": "usr_former"}, {}, 15, NO.FORMER_ACCOUNT),
        ({}, {"kind": "group"}, 15, NO.NOT_ALONE),
        ({}, {"visibility": "open"}, 15, NO.NOT_ALONE),
        ({}, {"roster": (COACH,)}, 15, NO.NOT_ALONE),
        ({}, {"discarded_at": NOON}, 15, NO.DISCARDED),
    ],
)
def test_words_are_shared_after_notice_and_pause_unless_kept_private(
    change: dict[str, Any], chat: dict[str, Any], minutes: int, refusal: SharingRefusal | None
) -> None:
    now = NOON + timedelta(minutes=minutes)
    author = AuthorRules(_emma(), (rule(),), now, Settings())
    said, there = SaidMessage(SAID, EMMA.id, NOON), _chat(STATE.model_copy(update=change), **chat)
    assert bool(author.rules_of(there, said)) is (refusal is None)
    decided = ReaderRules((rule(),), (DOCTOR,), 1, now, Settings()).decided(there, said, _emma())
    assert (bool(decided.rules), decided.refusal or NO.NO_RULE) == (
        refusal is None,
        NO.NO_RULE if refusal in {None, NO.BEFORE_NOTICE} else refusal,
    )
    assert [each.reason for each in decided.refused] == [NO.BEFORE_NOTICE] * (
        refusal is NO.BEFORE_NOTICE
    )
    before = SaidMessage(SAID, EMMA.id, NOON - timedelta(seconds=1))
    assert author.rules_of(_chat(STATE), before) == ()  # the role began later
    assert author.refusal(_chat(None), said) is NO.NO_NOTICE


def _emma() -> User:
    held = HeldRole(role="nurse", since=NOON)
    return User(tenant=TENANT, id=EMMA.id, name="Emma", created_at=NOON, roles=(held,))


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("given", "reader", "refusal"),
    [
        ({}, DOCTOR, None),
        ({"from": {"role": "cook"}}, DOCTOR, NO.AUTHOR_ROLE),
        ({}, NURSE, NO.READER_ROLE),
        ({}, roles(EMMA.id, ("doctor", None)), NO.OWN_WORDS),
        ({"same_subject": True}, DOCTOR, NO.SUBJECT),
        ({"begins_at": NOON + 2 * HOUR}, DOCTOR, NO.RULE_NOT_BEGUN),
        ({"ends_at": NOON + HOUR}, DOCTOR, NO.RULE_ENDED),
        ({"withdrawn_at": NOON + HOUR}, DOCTOR, NO.RULE_DELETED),
        ({"id": "shr_2"}, DOCTOR, NO.BEFORE_NOTICE),
        ({"id": "shr_2", "begins_at": NOON + HOUR}, DOCTOR, NO.BEFORE_RULE),
    ],
)
def test_rule_that_does_not_share_names_the_first_failed_condition(
    given: dict[str, Any], reader: PersonRoles, refusal: SharingRefusal | None
) -> None:
    one, now = rule(**given), NOON + HOUR
    said = SaidMessage(SAID, EMMA.id, NOON)
    every = ReaderRules((one,), (reader,), 1, now, Settings())
    decided = every.decided(_chat(STATE), said, _emma())
    assert [each.reason for each in decided.refused] == [refusal] * (refusal is not None)
    assert decided.reader == (reader.user_id if refusal else None)
    # A prompt asks with the rules in force, an explanation with all of them.
    in_force = ReaderRules((one,) if one.in_force(now) else (), (reader,), 1, now, Settings())
    assert in_force.decided(_chat(STATE), said, _emma()).rules == decided.rules
    both = ReaderRules((one,), (DOCTOR, reader), 1, now, Settings())
    assert both.decided(_chat(STATE), said, _emma()).rules == decided.rules


def test_words_without_known_author_or_reader_are_not_shared() -> None:
    rules = ReaderRules((rule(),), (DOCTOR,), 1, NOON + HOUR, Settings())
    said = SaidMessage(SAID, EMMA.id, NOON)
    assert rules.decided(_chat(STATE), None, _emma()).refusal is NO.NOT_OWN_WORDS
    assert rules.decided(_chat(STATE), said, None).refusal is NO.AUTHOR_GONE
    gone = _emma().model_copy(update={"erasure_id": "era_1"})
    assert rules.decided(_chat(STATE), said, gone).refusal is NO.AUTHOR_GONE
    nobody = ReaderRules((rule(),), (), 1, NOON + HOUR, Settings())
    assert nobody.decided(_chat(STATE), said, _emma()).refusal is NO.NO_READER


def test_readers_including_one_who_refuses_receive_no_shared_words() -> None:
    refusing = replace(roles("usr_m", ("doctor", "usr_p")), refuses=True)
    both = ReaderRules((rule(),), (DOCTOR, refusing), 1, NOON + HOUR, Settings())
    said = SaidMessage(SAID, EMMA.id, NOON)
    assert both.decided(_chat(STATE), said, _emma()).refusal is NO.READER_REFUSES
    assert both.partitions(TENANT, "agt_a") == ()
    refused = User(tenant=TENANT, id="usr_m", name="M", created_at=NOON, refuses_shared=True)
    assert PersonRoles.of(refused, NOON).refuses


def test_item_made_from_several_messages_is_shared_only_if_each_message_is() -> None:
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


def test_readers_search_shared_words_in_at_most_eight_partitions() -> None:
    rules = tuple(rule(whose=f"role {n}") for n in range(10))
    one = ReaderRules(rules, (DOCTOR,), 1, NOON, Settings())
    assert len(one.partitions(TENANT, "agt_a")) == MAX_PARTITIONS
    nobody = ReaderRules(rules, (DOCTOR, NURSE), 1, NOON, Settings())
    assert nobody.partitions(TENANT, "agt_a") == ()


def test_conversation_kept_private_stays_private_and_the_next_one_is_shared() -> None:
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


def test_state_of_0_3_0_with_opened_words_is_read_without_them() -> None:
    stored = STATE.model_dump(mode="json") | {"opened": {"shr_1": 3}}
    assert SharingState.model_validate(stored) == STATE
