"""Services of the tenant that echo, store and return what they got, one of each privacy.

The shared ones tell everybody all that they ever got. The one that keeps by person returns what it
got only to people who all were among the readers that the signed context named, as its owner
promised. A service that books does so after a yes. Another is told of all events, without words.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import log2
from string import ascii_lowercase
from typing import Any, get_args

from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.models.endpoint import EventType
from skein.models.common.base import is_visitor
from skein.models.common.http import HttpAnswer, HttpRequest
from tests.fakes.outbound_http import json_answer
from tests.support.builders import TENANT, World
from tests.support.own_tools import own_tool

SHARED, KEPT = "tell_everybody", "tell_readers"
LOOK_UP, NOTIFY, BOOK = "look_up", "notify", "book"
PICK, RING, KNOCK, LETTERS = "pick", "ring", "knock", "spell"
EVENTS = "https://service.example/events"
LETTER = {"type": "string", "enum": list(ascii_lowercase)}
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
MOST_BITS = 24  # of a run that holds private content, to shared services without a yes


def _schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


STRING = {"type": "string"}
TEXT = _schema("text", text=STRING)
ASKS = {"from_private": "ask"}
TOOLS: dict[str, dict[str, Any]] = {
    SHARED: {"parameters": TEXT},
    KEPT: {"parameters": TEXT, "privacy": "keeps_by_person"},
    LOOK_UP: ASKS
    | {
        "parameters": _schema("q", q=STRING, tags={"type": "array", "items": STRING}),
        "max_calls_per_day": 4,
    },
    NOTIFY: ASKS | {"parameters": TEXT, "effect": "write"},
    PICK: {"parameters": _schema("letter", letter=LETTER, loud={"type": "boolean"})},
    RING: {"parameters": _schema()},
    KNOCK: {"parameters": _schema()},
    LETTERS: {"parameters": _schema("letters", letters={"type": "array", "items": LETTER})},
    BOOK: {
        "parameters": _schema("day", day={"type": "string", "enum": ["today"]}, note=STRING),
        "effect": "write",
        "approval": "person",
        "privacy": "keeps_by_person",
        "max_calls_per_day": 3,
    },
}
"""The tools, by name. Those without `privacy` may show everybody what they got."""

CLOSED = frozenset({PICK, RING, KNOCK})
"""The shared tools whose arguments an operator wrote down; a private run may call them."""


@dataclass(frozen=True)
class Call:
    """What a service got.

    Attributes:
        key: The idempotency key, which begins with the run that first made the call.
        run_id: The run that sends it.
        private: Whether the run works for a private place.
    """

    tool: str
    arguments: Mapping[str, Any]
    key: str
    run_id: str
    private: bool

    @property
    def agreed(self) -> bool:
        """Whether it is sent after somebody's yes: another run made it first."""
        return not self.key.startswith(f"{self.run_id}:")

    @property
    def shared(self) -> bool:
        """Whether the service may show everybody what it got."""
        return "privacy" not in TOOLS[self.tool]

    @property
    def text(self) -> str:
        """What a service that shows everything shows of it."""
        if self.tool == SHARED:
            return str(self.arguments["text"])
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False)}"

    @property
    def bits(self) -> float:
        """What its choice, and that of its values, tells a shared service."""
        schema = TOOLS[self.tool]["parameters"]
        kinds = sum("privacy" not in tool for tool in TOOLS.values())
        values = [
            len(each.get("enum", (True, False))) + (name not in schema["required"])
            for name, each in schema["properties"].items()
        ]
        return log2(1 + kinds) + sum(map(log2, values))


def shows(question: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a question shows all words of some arguments as JSON, and nothing that is unseen."""
    lines = question.splitlines()
    if not all(line.isprintable() for line in lines) or UNSEEN.search(question):
        return False
    literals: set[str] = set()
    for each in LITERAL.findall(question):
        with suppress(ValueError):  # a quotation that is no JSON
            literals.add(json.loads(each))
    return all(word in literals for word in _words_in(arguments))


def _words_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [word for each in value.values() for word in _words_in(each)]
    return [word for each in value for word in _words_in(each)] if isinstance(value, list) else []


@dataclass
class Services:
    """The services.

    Attributes:
        received: Called with each call, before it is answered.
        is_private: Whether a run works for a private place.
        calls: All calls.
        kept: All that the one that keeps by person got, each with its readers; None for all
            members.
        told: The bodies of all events.
    """

    received: Callable[[Call], None] = lambda _: None
    is_private: Callable[[str], bool] = lambda _: False
    calls: list[Call] = field(default_factory=list)
    kept: list[tuple[frozenset[str] | None, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    @property
    def heard(self) -> list[str]:
        """All that the shared ones got, which counts as seen by everybody.

        Which values of enums private runs choose is not promised to stay secret: see `spelled`.
        """
        shared = (each for each in self.calls if each.shared)
        return [each.text for each in shared if not (each.private and each.tool in CLOSED)]

    @property
    def spelled(self) -> dict[str, float]:
        """How many bits each private run told shared services without a yes."""
        bits: dict[str, float] = {}
        for each in self.calls:
            if each.private and each.tool in CLOSED and not each.agreed:
                bits[each.run_id] = bits.get(each.run_id, 0) + each.bits
        return bits

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """Store a text, and return all that the readers may see of those stored."""
        if request.url == EVENTS:
            self.told.append(request.body.decode())
            return HttpAnswer(status=204)
        tool, arguments = request.url.rpartition("/")[2], json.loads(request.body)
        encoded = request.headers["Skein-Context"]
        context = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
        run_id, key = context["run_id"], request.headers["Idempotency-Key"]
        call = Call(tool, arguments, key, run_id, self.is_private(run_id))
        self.calls.append(call)
        self.received(call)
        if tool == KEPT:
            return json_answer(self._kept(call.arguments["text"], context["readers"]))
        return json_answer("done" if tool in CLOSED | {BOOK} else self.heard)

    def _kept(self, text: str, named: Any) -> list[str]:
        readers = None if named == "tenant" else frozenset(named)
        self.kept.append((readers, text))
        return [each for whom, each in self.kept if _may_see(readers, whom)]


def _may_see(readers: frozenset[str] | None, whom: frozenset[str] | None) -> bool:
    """Whether people may see what was kept for others; None stands for all members."""
    if readers is None:
        return whom is None
    if whom is None:
        return not any(map(is_visitor, readers))
    return bool(readers) and readers <= whom


def add_services(world: World) -> Services:
    """Give a world the services as tools, and one that is told of events."""
    services = Services()
    world.service.answer = services.answer
    for name, fields in TOOLS.items():
        common = {
            "name": name,
            "description": "Tell a service something.",
            "privacy": "shared",
            "max_result_tokens": 10_000,
            "http": {"method": "POST", "url": f"https://service.example/{name}"},
        }
        own_tool(world, common | fields)
    endpoint = NewEndpoint(url=EVENTS, types=get_args(EventType))
    world.app.get(EventEndpoints).create(TENANT, endpoint)
    return services
