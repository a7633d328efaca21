"""The names by which prompts and tool results show a chat's members.

Each name is plain: it holds no bracket, quote, colon or line break, so a name cannot imitate the
format around it. Only tags have brackets: `(chosen, k3f9)` after a name that a person chose, and
`(team)` after the name of a person of the team. Members with identical names are numbered in order
of joining: the second Husam is `Husam (2)`. A number is never reassigned to another member, even
after its member has left.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.person_names import split_tag

PUNCTUATION = frozenset(" '\u2019.-_&+")
MAX_NAME = 60  # maximum length of a displayed name, in characters
YOU = "you"  # refers to the agent itself
MAX_FORMER = 100
TEAM = " (team)"  # follows the name of a person of the team


class FormerName(NamedMember):
    """A name that a member had in a chat, with its number; the pair is never reassigned.

    Attributes:
        number: 1 for the first member with this name, who is shown without a number.
    """

    number: int


def plain_name(member: NamedMember) -> str:
    """Return a member's name without the characters that the format of prompts uses.

    Such characters become spaces, and invisible ones are removed. `You`, and a name without any
    letter or digit, becomes `Person` or `Agent`. The tag of a chosen name stays. The name of a
    person of the team has a tag that no member can have.
    """
    if member.kind == "team":
        return _plain_name(member.name.removesuffix(TEAM), member) + TEAM
    name, tag = split_tag(member.name) if member.kind == "user" else (member.name, "")
    return _plain_name(name, member) + tag


def _plain_name(name: str, member: NamedMember) -> str:
    whole = unicodedata.normalize("NFC", name)
    plain = " ".join("".join(map(_plain, whole)).split())[:MAX_NAME].strip(" -")
    while plain and unicodedata.category(plain[0])[0] == "M":
        plain = plain[1:].lstrip(" -")
    if folded(plain) == YOU or not any(map(str.isalnum, plain)):
        return "Agent" if member.kind == "agent" else "Person"
    return plain


def _plain(character: str) -> str:
    if character.isalnum() or character in PUNCTUATION:
        return character
    category = unicodedata.category(character)
    if category in {"Mn", "Mc"}:
        return character
    return "" if category == "Cf" else " "


def folded(name: str) -> str:
    """Return a name for comparison, so that names that look alike are equal."""
    return unicodedata.normalize("NFKC", name).casefold()


def numbered(name: str, number: int) -> str:
    """Return a plain name with its number: `Husam`, `Husam (2)`."""
    return name if number == 1 else f"{name} ({number})"


def numbers_of(
    roster: Iterable[NamedMember], former: Iterable[FormerName]
) -> dict[MemberRef, tuple[str, int]]:
    """Return each member's plain name, and the number that tells identical names apart.

    Args:
        roster: The members in order of joining.
        former: The former names, which keep their numbers.
    """
    given = {(each.ref, folded(plain_name(each))): each.number for each in former}
    highest: dict[str, int] = {}
    for (_, name), number in given.items():
        highest[name] = max(highest.get(name, 0), number)
    found = {}
    for member in roster:
        plain = plain_name(member)
        name = folded(plain)
        number = given.get((member.ref, name)) or highest.get(name, 0) + 1
        highest[name] = max(highest.get(name, 0), number)
        found[member.ref] = (plain, number)
    return found


def former_with(
    roster: Sequence[NamedMember], former: Sequence[FormerName], changed: Sequence[NamedMember]
) -> tuple[FormerName, ...]:
    """Return the former names after members have left or were renamed.

    Former names and members with the same name keep their numbers. A name that only one member ever
    had is not kept when the member leaves, because the closed membership has the name. If there are
    more than 100 former names, the oldest are dropped.

    Args:
        roster: The members before the change.
        former: The former names before the change.
        changed: The members after the change.
    """
    after = {member.ref: member for member in changed}
    numbers = numbers_of(roster, former)
    shared = Counter(folded(plain) for plain, _ in numbers.values())
    shared.update(folded(plain_name(each)) for each in former)
    touched = set()
    for member in roster:
        now, name = after.get(member.ref), folded(plain_name(member))
        if now is None and shared[name] > 1:
            touched.add(name)
        elif now is not None and now.name != member.name:
            touched |= {name, folded(plain_name(now))}
    kept = {(each.ref, folded(plain_name(each))): each for each in former}
    for member in roster:
        plain, number = numbers[member.ref]
        if folded(plain) in touched:
            kept[member.ref, folded(plain)] = _former(member, number)
    return tuple(kept.values())[-MAX_FORMER:]


def former_before(
    member: NamedMember, former: Sequence[FormerName], left: Iterable[NamedMember]
) -> tuple[FormerName, ...]:
    """Return the former names, extended by members who have left and had this member's name.

    Args:
        member: The member with the new name.
        former: The former names.
        left: The members who have left. Those with the name of `member` are added.
    """
    name = folded(plain_name(member))
    known = {each.ref for each in former if folded(plain_name(each)) == name}
    namesakes = [
        each for each in left if each.ref != member.ref and folded(plain_name(each)) == name
    ]
    missing = tuple(_former(each, 1) for each in namesakes if each.ref not in known)
    return (*former, *missing)


def _former(member: NamedMember, number: int) -> FormerName:
    return FormerName(kind=member.kind, id=member.id, name=member.name, number=number)
