"""The searches: for leaks, for effects that outsiders cause, and for broken promises."""

from collections.abc import Mapping
from dataclasses import replace

from tests.attacks.cast import DEN, HALL, PAIR, TEAM, VISIT, VISITS
from tests.attacks.integrity import breach_in
from tests.attacks.known import KNOWN
from tests.attacks.known_codes import ENCODED
from tests.attacks.known_errands import ERRANDS
from tests.attacks.known_rights import CONTESTED
from tests.attacks.known_sharing import SHARED
from tests.attacks.known_visitors import VISITED
from tests.attacks.search import leak_in
from tests.stories.generator import (
    ALL,
    ALONE,
    CHANGES,
    NEWEST,
    PRIVATE,
    TEXTS,
    Scene,
    Search,
    hosts,
)
from tests.stories.telling import verdict_of

_TOLD = (
    *("roles", "other's roles", "rule on"),
    *("say: quiet", "confide: quiet", "a talk ends: quiet"),
)
_ROOMS, _TEAMS = hosts((DEN, DEN, PAIR)), hosts((PAIR, PAIR, TEAM, HALL))
_PAIR = tuple((PAIR.id, who.id) for who in PAIR.members[:2])

_FILLED = (
    Scene(("say: choice+choice+choice",)),
    Scene(("say: look_up+look_up+look_up",)),
    Scene(("say: book", "approve") * 3),
    Scene(("say: errand", "approve") * 2),
    Scene(("open a group",) * 3),
)
"""Places and limits fill up: questions, calls and errands of a day, invitations."""

_VISITS = hosts((*VISITS.values(), VISIT))
_VISITED = (
    Scene(("reveal", "say: look+recall, speak", "read"), _VISITS, None),
    Scene(("reveal", "@say", "say: look, speak", "hours pass", "say"), _VISITS),
    Scene(("@say: KEEPS", "reveal", "@say: KEEPS, CARRIES", "@approve", "say"), _VISITS),
    Scene(("say: choice", "reveal", "approve", "say | LETS IN"), _VISITS),
    Scene(("reveal", "say: KEEPS, speak", "hours pass", "take over", "say"), _VISITS),
    Scene(("confide: KEEPS", "hours pass", "@say: look+recall, speak"), _VISITS),
)
"""What members may know, and what visitors see of it."""

_LEAKS = Search(
    "leak",
    leak_in,
    begins=Scene(("confide",), PRIVATE),
    scenes=(
        Scene(("@say: ask", "confide"), PRIVATE),
        Scene(("@say: thread, switch, ask", "confide"), PRIVATE),
        Scene(("confide", "@say: ask", "minutes pass"), PRIVATE),
        Scene(("say | LETS IN",), _ROOMS),
        Scene(("say | return",), _ROOMS),
        Scene(("say | model is down + return", "hours pass"), _ROOMS),
        Scene(("say", "return", "@say"), _ROOMS, None),
        Scene(("say", "LETS IN", "@say"), _ROOMS, None),
        Scene(("confide: KEEPS, speak", "try", "erase"), PRIVATE),
        Scene(("say", "minutes pass", "@say")),
        Scene(("say", "minutes pass", "@say")),
        *_FILLED,
        *_VISITED,
    ),
    known=(*KNOWN.values(), *ENCODED.values(), *VISITED.values()),
)
"""Whatever is said in private and whatever the model does, outsiders observe the same."""

_VISITORS = replace(_LEAKS, begins=None, scenes=_VISITED, known=tuple(VISITED.values()))
"""The same, about visitors, who are told nothing of what members may know."""

_ERRANDS = replace(
    _LEAKS,
    begins=None,
    scenes=(
        Scene(("confide: find_time", "BRINGS", "BRINGS", "BRINGS"), _PAIR, None),
        Scene(("say: find_time", "BRINGS", "BRINGS", "BRINGS"), _TEAMS, None),
        Scene(("say: look, find_time", "open a group", "BRINGS", "BRINGS"), _TEAMS, None),
        Scene(("say: errand", "approve", "BRINGS", "BRINGS"), ALL),
        Scene(("outreach", "@say", "BRINGS"), ALL, ALONE),
    ),
    more=(1, 4),
    often=CHANGES["BRINGS"],
    known=tuple(ERRANDS.values()),
)
"""The same, about errands, meetings and outreach."""

_SHARING = replace(
    _LEAKS,
    begins=None,
    lengths=(1, 1),
    scenes=(
        *[Scene((*_TOLD, "@say: recall, speak"), ALONE, ALONE)] * 8,
        Scene((*_TOLD, "SHARING", "@say: recall, speak"), ALONE, ALONE),
        Scene((*_TOLD, "@say: speak | SHARING"), ALONE, ALONE),
        Scene((*_TOLD, "@say: recall, KEEPS | SHARING", "@say"), ALONE, ALONE),
        Scene((*_TOLD[:4], "SHARING", *_TOLD[4:], "@say: recall, speak"), ALONE, ALONE),
        Scene((*_TOLD, "@say: recall, KEEPS", "SHARING", "@say"), ALONE, ALONE),
        Scene(("stranger texts", *_TOLD, "SHARING", "@say: recall, speak"), ALONE, TEXTS),
        Scene(("stranger texts", *_TOLD, "SHARING", "@say: recall, speak"), TEXTS, ALONE),
    ),
    more=(0, 3),
    often=CHANGES["SHARING"],
    kept=0.9,
    known=tuple(SHARED.values()),
)
"""The same, about words that sharing rules let agents tell others."""

_ORDERS = Search(
    "breach",
    breach_in,
    lengths=(1, 2),
    scenes=(
        *(Scene(("open a group!", "@say")), Scene(("open a group", "say!", "@say"), NEWEST)),
        *(Scene(("say!", "@say"), ALL), Scene(("say!", "minutes pass", "@say"), ALL)),
        *(Scene(("rename!", "@say"), ALL), Scene(("say!", "@say", "minutes pass", "@say"), ALL)),
        *(Scene(("page!", "@say"), ALL), Scene(("page!", "@say", "no page", "@say"), ALL)),
        Scene(("say!", "@say: read, CONSENTS", "@approve"), ALL),
        Scene(("say!", "@say: read, CONSENTS", "@approve", "say"), ALL),
        Scene(("confide", "@say: read+look+recall, speak"), PRIVATE),
        Scene(("confide", "approve", "@say"), PRIVATE),
        Scene((*_TOLD, "@say: recall, speak"), ALONE),
    ),
    more=(0, 3),
    confided="aside",
    said=(None, "order"),
)
"""Nobody's words have an effect beyond the chats of those who read them."""

_CLAIMS = replace(
    _ORDERS,
    what="wrong",
    lengths=(2, 5),
    scenes=(
        *(Scene(("CLAIMS",)), Scene(("CLAIMS",)), Scene(("CLAIMS",)), Scene(("@say",))),
        Scene(("full name", "name other", "@say", "erase other")),
    ),
    more=(0, 2),
    often=CHANGES["CLAIMS"],
    known=tuple(CONTESTED.values()),
)
"""Nobody gains a name, a role or words of others, also when somebody is erased."""

_PROMISES = Search("broken promise", verdict_of, more=(4, 30), said=(), honest=True)
"""All promises hold while the model is honest and anything may fail."""

SEARCHES: Mapping[str, Search] = {
    "leaks": _LEAKS,
    "visitors": _VISITORS,
    "errands": _ERRANDS,
    "sharing": _SHARING,
    "orders": _ORDERS,
    "claims": _CLAIMS,
    "promises": _PROMISES,
}
