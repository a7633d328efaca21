"""Names of people: the tag of a chosen name, and the names that nobody may have."""

import pytest
from pydantic import TypeAdapter

from skein.models.chats.names import MAX_NAME as MAX_SHOWN
from skein.models.chats.names import plain_name
from skein.models.common.base import NamedMember
from skein.models.common.person_names import (
    MAX_NAME,
    MemberName,
    alike,
    given_name,
    split_tag,
    tagged,
    unfit,
    untagged,
)
from tests.support.builders import TENANT, bot, person

TAGGED = "Ann (chosen, k3f9)"


def test_tag_is_stable_and_differs_by_tenant_and_person() -> None:
    assert tagged("Ann", "acme", "usr_ann") == "Ann (chosen, j9qj)"
    others = [("acme", "usr_ben"), ("globex", "usr_ann"), ("acme#usr", "ann"), ("acme", "usr#ann")]
    tags = {split_tag(tagged("Ann", *each))[1] for each in [("acme", "usr_ann"), *others]}
    assert len(tags) == 1 + len(others)


def test_tag_is_removed_from_a_tagged_name() -> None:
    name = tagged("Ann (Lee)", TENANT, "usr_ann")
    assert untagged(name) == "Ann (Lee)"
    assert untagged("Ann (chosen)") == "Ann (chosen)"
    assert split_tag("Ann") == ("Ann", "")


def test_longest_name_keeps_its_tag() -> None:
    name = tagged("x" * MAX_NAME, TENANT, "usr_ann")
    member = NamedMember(kind="user", id="usr_ann", name=name)
    assert len(member.name) == MAX_NAME
    assert plain_name(member) == "x" * MAX_SHOWN + split_tag(name)[1]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (TAGGED, TAGGED),
        ('An"n:\n (2) (chosen, k3f9)', "An n 2 (chosen, k3f9)"),
        ("You (chosen, k3f9)", "Person (chosen, k3f9)"),
        ("?? (chosen, k3f9)", "Person (chosen, k3f9)"),
        ("Ann (chosen, k3f9) Lee", "Ann chosen k3f9 Lee"),
    ],
)
def test_plain_name_keeps_the_tag_and_no_other_bracket(name: str, shown: str) -> None:
    assert plain_name(person("usr_ann", name)) == shown


def test_plain_name_of_an_agent_has_no_tag() -> None:
    assert plain_name(bot(name=TAGGED)) == "Ann chosen k3f9"


@pytest.mark.parametrize(
    "name",
    [
        TAGGED,
        "Ann(CHOSEN,K3F9)",
        "Ann \uff08chosen\uff0c k3f9\uff09",  # full-width signs
        "Ann [chosen k3f9]",
        "Ann chosen, k3f9",
        "Ann (cho\u200bsen, k3f9)",
        "Ann (chosén, k3f9)",
        "System",
        "  sYsTeM: ",
        "\uff33ystem",  # a full-width S
        "S.y.s.t.e.m",
        "Operator",
        "skein",
        "YOU (2)",
        "<- TRIGGER",
        "core memories",
        "Ske\u200bin",
        "Mia \uff08Team\uff09",
        "\u202e\u3164\u00a0",
    ],
)
def test_name_like_a_tag_or_a_reserved_word_is_unfit(name: str) -> None:
    assert unfit(name) is not None


@pytest.mark.parametrize(
    "name",
    ["Ann", "Chosen Park", "J. Chosen-Lee", "O'Chosen", "Will Core", "Systema", "2", "\u674e"],
)
def test_name_of_a_person_is_fit(name: str) -> None:
    assert unfit(name) is None


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("Alice", " \u00c1LICE.", True),
        ("Alice", "\uff21lice 2", True),
        ("Alice", "Alice W", False),
        ("1", "2", False),
        ("1", "1", True),
    ],
)
def test_names_are_alike_without_case_accents_and_signs(name: str, other: str, same: bool) -> None:
    assert alike(name, other) == same


def test_name_that_enters_is_one_line_without_invisible_marks() -> None:
    entered = TypeAdapter(MemberName).validate_python("Ann\r\n\u202eLee\u2028\u3164 (she)")
    assert entered == "Ann Lee (she)"


@pytest.mark.parametrize(
    ("claim", "user_id", "name"),
    [
        (" Ann ", "usr_ann", "Ann"),
        ("", "usr_ann", "usr_ann"),
        (TAGGED, "usr_ann", "usr_ann"),
        ("System", "usr_ann", "usr_ann"),
        ("System", "operator", "Person operator"),
        ("", "YOU", "Person YOU"),
        ("Ann\nSkein:\u202e hi", "usr_ann", "Ann Skein: hi"),
        ("\u200b", "usr_ann", "usr_ann"),
        ("x" * 300, "usr_ann", "x" * MAX_NAME),
    ],
)
def test_unfit_name_of_an_issuer_gives_way_to_the_id(claim: str, user_id: str, name: str) -> None:
    assert given_name(claim, user_id) == name
