"""Sharing rules tell people exactly what they may be told, whatever changes meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from skein.models.chats.chat import Chat
from skein.models.common.storage import Check, Exists
from skein.models.directory.user import User
from skein.models.runs.run import Run
from skein.models.visibility.audience import may_show
from skein.models.visibility.ownership import DerivedItem, Readers
from skein.models.visibility.provenance import Authors
from skein.models.visibility.sharing_rules import SharingRule, SharingRules, SharingStamp
from skein.models.visibility.talk import SharingState
from skein.services.chats import administration
from skein.services.runs.activations import Activations, Recording
from skein.services.runs.claim import Claim
from skein.services.visibility.sharing_rules import PersonRoles, ReaderRules, SaidMessage
from tests.attacks.cast import BOBS, CAROL, words
from tests.attacks.known_sharing import SHARED
from tests.attacks.sampling import seeded, some_of
from tests.attacks.search import leak_in, search
from tests.attacks.stage import Stage
from tests.stories.searches import SEARCHES
from tests.stories.town import Town

SHARING_SEARCH = SEARCHES["sharing"]
TELLING = 0.25  # of the stories, at least, in which a rule tells words


@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", seeded(3))
def test_seeded_sharing_stories_share_only_what_the_rules_permit(part: int) -> None:
    SHARING_SEARCH.sample(part)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(4))
def test_hundreds_of_new_sharing_stories_share_only_what_the_rules_permit(
    part: int, new_stories: str
) -> None:
    SHARING_SEARCH.play(f"{new_stories} {part}", 200)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_at_least_a_quarter_of_seeded_sharing_stories_share_words_by_rule() -> None:
    stages = [Town(words=words(), honest=False) for _ in range(40)]
    for stage, story in zip(stages, SHARING_SEARCH.stories(0), strict=False):
        stage.play(story)
    telling = [stage.knowledge.told_by_rule > 0 for stage in stages]
    assert sum(telling) >= TELLING * len(telling)


@pytest.mark.parametrize("name", some_of(SHARED))
def test_known_sharing_story_shares_only_what_the_rules_permit(name: str) -> None:
    search(SHARED[name])


def test_sharing_story_shares_the_secret_by_rule() -> None:
    stage = Stage(words=words())
    stage.play(SHARED["told_by_a_rule"])
    assert stage.secret in stage.texts(BOBS.id)[-1]
    assert stage.knowledge.told_by_rule > 0
    assert stage.knowledge.outsiders() == [CAROL.id]


def _yes(*_: Any, **__: Any) -> bool:
    return True


def _no(*_: Any, **__: Any) -> bool:
    return False


def _rules_for_last(
    rules: ReaderRules, chat: Chat, said: Sequence[SaidMessage | None], author: User | None
) -> tuple[SharingRule, ...]:
    return rules.decided(chat, said[-1], author).rules


def _with_all_roles(_: type[PersonRoles], user: User, __: datetime) -> PersonRoles:
    """A person with all roles that they ever had: they count as if held when it was said."""
    return PersonRoles(user.id, tuple(held.plain for held in user.roles))


def _with_ended(rules: SharingRules, _: datetime) -> tuple[SharingRule, ...]:
    ended = (each.model_copy(update={"withdrawn_at": None}) for each in rules.ended)
    return (*rules.rules, *ended)


def _begun(rule: SharingRule, moment: datetime) -> bool:
    return rule.begins_at <= moment


def _newest_alone(state: SharingState, _: int) -> SharingState:
    return state.model_copy(update={"private": True})


def _unchanged(tenant: str, user_id: str) -> Check:
    return Check(User.key_of(tenant, user_id), Exists())


def _shown_anywhere(readers: Readers, thing: DerivedItem) -> bool:
    shown = readers.readers is None or may_show(thing.audience, readers.readers)
    return shown and (thing.trusted or readers.insiders.admit(thing.authors))


_record: Callable[..., Claim] = Activations.record


def _unasked(activations: Activations, recording: Recording, *, acts: bool = False) -> Claim:
    del acts
    return _record(activations, recording)


SHARING: dict[str, tuple[Any, str, Any, str]] = {
    "readers need the role": (PersonRoles, "is_in", _yes, "reader_has_no_role"),
    "authors need the role when they say it": (
        PersonRoles,
        "of",
        classmethod(_with_all_roles),
        "author_had_no_role",
    ),
    "rules cover what is said after the notice": (
        SharingState,
        "covered_by",
        _yes,
        "said_before_the_notice",
    ),
    "PRIVATE keeps a talk": (SharingState, "keeps", _no, "kept_by_private"),
    "a late PRIVATE keeps the talk before": (
        SharingState,
        "kept_private",
        _newest_alone,
        "kept_late",
    ),
    "a call keeps a talk": (SharingState, "keeps", _no, "kept_by_a_call"),
    "withdrawn words are kept": (SharingState, "keeps", _no, "withdrawn_words"),
    "a memory is told only if all that it was made from is": (
        ReaderRules,
        "rules_for_all",
        _rules_for_last,
        "memory_of_withdrawn_words",
    ),
    "a talk must be over": (SharingState, "is_over", _yes, "talk_is_not_over"),
    "subjects must be the same": (
        PersonRoles,
        "subject",
        property(lambda _: CAROL.id),
        "other_subject",
    ),
    "there must be one subject": (
        PersonRoles,
        "subject",
        property(lambda person: next((each.subject for each in person.roles), None)),
        "reader_has_two_subjects",
    ),
    "withdrawn rules tell nothing": (SharingRules, "in_force", _with_ended, "rule_is_withdrawn"),
    "rules end": (SharingRule, "in_force", _begun, "rule_has_reached_its_end"),
    "answers with told words stay in their chat": (
        Authors,
        "of_rule_words",
        property(lambda authors: authors),
        "answer_stays_where_it_was_told",
    ),
    "saved words stay in their chat": (
        Readers,
        "shows",
        _shown_anywhere,
        "saved_words_stay_where_they_were_told",
    ),
    "a post checks the versions": (
        Run,
        "sharing_stamp",
        property(lambda _: None),
        "rule_is_withdrawn_while_the_model_thinks",
    ),
    "a post checks the end of the rules": (
        SharingStamp,
        "has_ended",
        _no,
        "rule_ends_while_the_model_thinks",
    ),
    "tools check the versions": (
        Activations,
        "record",
        _unasked,
        "rule_is_withdrawn_before_tools_save",
    ),
    "readers can turn it off": (
        ReaderRules,
        "_refusal",
        property(lambda _: None),
        "reader_turned_it_off",
    ),
    "turning it off raises the reader's version": (
        User,
        "next_sharing",
        property(lambda _: {}),
        "reader_turns_it_off_while_the_model_thinks",
    ),
    "a change of roles raises the reader's version": (
        User,
        "next_sharing",
        property(lambda _: {}),
        "reader_loses_the_role_while_the_model_thinks",
    ),
    "an erasure raises the author's version": (
        User,
        "next_sharing",
        property(lambda _: {}),
        "author_is_erased_while_the_model_thinks",
    ),
    "a discarded chat raises the author's version": (
        administration,
        "sharing_changed",
        _unchanged,
        "chat_is_discarded_while_the_model_thinks",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fix", SHARING)
def test_search_without_check_of_sharing_finds_the_known_leak(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = SHARING[fix]
    monkeypatch.setattr(owner, name, without)
    assert leak_in(SHARED[story]) is not None


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("fix", SHARING)
def test_search_without_check_of_sharing_finds_a_leak_in_generated_stories(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = SHARING[fix]
    monkeypatch.setattr(owner, name, without)
    search = replace(SHARING_SEARCH, known=(SHARED[story],))
    assert search.found(fix, 500) is not None
