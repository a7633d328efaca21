"""Names of people, the team and agents: one line, no invisible characters, no reserved words.

A person's name is given by the issuer or an operator, or chosen by the person. A chosen name has a
tag wherever others see it: `Alice Ward (chosen, k3f9)`. A name in which someone has typed such a
tag is refused. So every name without a tag was given by the issuer or an operator.
"""

import re
import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator

from skein.models.common.base import Name, key_part, stable_hash
from skein.models.common.characters import on_one_line
from skein.models.common.prompt_sections import SECTIONS

NameSource = Literal["given", "chosen"]

MAX_NAME = 200

OPERATOR = "Operator"
RESERVED = SECTIONS.keys() | {"System", OPERATOR, "Skein", "You"}  # compared as letters only

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGITS = 4
_TAG = re.compile(rf" \(chosen, [{_ALPHABET}]{{{_DIGITS}}}\)\Z")
# "chosen" next to a bracket, a comma or another sign that no name has.
_LIKE_TAG = re.compile(r"[^\w\s'\u2019.\-]\s*chosen\b|\bchosen\s*[^\w\s'\u2019.\-]")

# The mark of a person of the team, which no name has.
_LIKE_TEAM = re.compile(r"[(\[{]\s*team\s*[)\]}]\s*\Z")


def tagged(name: str, tenant: str, user_id: str) -> str:
    """Return a chosen name with its tag: a stable short hash of tenant and user id.

    A long name is cut, so that the tag fits.
    """
    number = stable_hash(f"name tag#{key_part(tenant)}#{key_part(user_id)}")
    code = "".join(_ALPHABET[number >> 5 * digit & 31] for digit in range(_DIGITS))
    tag = f" (chosen, {code})"
    return name[: MAX_NAME - len(tag)].rstrip() + tag


def split_tag(name: str) -> tuple[str, str]:
    """Return a name without its tag, and the tag with its leading space, or "" if it has none."""
    found = _TAG.search(name)
    return (name, "") if found is None else (name[: found.start()], found.group())


def untagged(name: str) -> str:
    return split_tag(name)[0]


def unfit(name: str) -> str | None:
    """Return why a name is not allowed for members and people of the team; None if it is allowed.

    Reserved names are compared with `alike`.
    """
    if not on_one_line(name):
        return "a name needs visible characters"
    visible = _visible(name)
    if _LIKE_TAG.search(visible):
        return "a name must not look like the tag of a chosen name"
    if _LIKE_TEAM.search(visible):
        return "a name must not look like that of a person of the team"
    return "this name is reserved" if _letters(visible) in _RESERVED_LETTERS else None


def alike(name: str, other: str) -> bool:
    """Return whether two names differ only in case, accents and non-letters."""
    one, two = _visible(name), _visible(other)
    return (_letters(one) or one) == (_letters(two) or two)


def given_name(claim: str, user_id: str) -> str:
    """Return the name that an issuer gives a person: the claim, or the id if the claim is unfit.

    An id that is a reserved word is preceded by `Person`. An id has no spaces, so it never contains
    a tag.

    Args:
        claim: The token's `name`; may be empty.
        user_id: The token's `sub`.
    """
    name = on_one_line(claim)[:MAX_NAME].strip()
    if name and unfit(name) is None:
        return name
    return user_id if unfit(user_id) is None else f"Person {user_id}"


def _fit_for_team(name: str) -> str:
    """Return the name of a person of the team, which may be the reserved `OPERATOR`."""
    return on_one_line(name) if alike(name, OPERATOR) else _fit(name)


def _fit(name: str) -> str:
    why = unfit(name)
    if why is not None:
        raise ValueError(why)
    return on_one_line(name)


def _visible(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(each for each in plain if unicodedata.category(each) not in {"Mn", "Cf"})


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))


_RESERVED_LETTERS = frozenset(_letters(name.casefold()) for name in RESERVED)

MemberName = Annotated[Name, AfterValidator(_fit)]
TeamMemberName = Annotated[Name, AfterValidator(_fit_for_team)]
