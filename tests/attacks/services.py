"""Services of the tenant that echo, store and return what they got, one of each privacy.

The shared one tells everybody all that it ever got. The one that keeps by person returns what it
got only to people who all were among the readers that the signed context named, as its owner
promised. A third service is told of all events, without words.
"""

import base64
import json
from dataclasses import dataclass, field
from typing import Any, get_args

from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.models.endpoint import EventType
from skein.models.common.http import HttpAnswer, HttpRequest
from tests.fakes.outbound_http import json_answer
from tests.support.builders import TENANT, World
from tests.support.own_tools import own_tool

SHARED, KEPT = "tell_everybody", "tell_readers"
EVENTS = "https://service.example/events"
TEXT: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


@dataclass
class Services:
    """The services.

    Attributes:
        heard: All that the shared one got, which counts as seen by everybody.
        kept: All that the other one got, each with its readers; None for the whole tenant.
        told: The bodies of all events.
    """

    heard: list[str] = field(default_factory=list)
    kept: list[tuple[frozenset[str] | None, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """Store a text, and return all that the readers may see of those stored."""
        if request.url == EVENTS:
            self.told.append(request.body.decode())
            return HttpAnswer(status=204)
        text = str(json.loads(request.body)["text"])
        if request.url.endswith(SHARED):
            self.heard.append(text)
            return json_answer(self.heard)
        encoded = request.headers["Skein-Context"]
        context = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
        named = context["readers"]
        readers = None if named == "tenant" else frozenset(named)
        self.kept.append((readers, text))
        shown = [
            each
            for whom, each in self.kept
            if whom is None or (readers is not None and readers and readers <= whom)
        ]
        return json_answer(shown)


def add_services(world: World) -> Services:
    """Give a world two services as tools that read, and one that is told of events."""
    services = Services()
    world.service.answer = services.answer
    for name, privacy in ((SHARED, "shared"), (KEPT, "keeps_by_person")):
        own_tool(
            world,
            {
                "name": name,
                "description": "Tell a service something.",
                "parameters": TEXT,
                "privacy": privacy,
                "max_result_tokens": 10_000,
                "http": {"method": "POST", "url": f"https://service.example/{name}"},
            },
        )
    endpoint = NewEndpoint(url=EVENTS, types=get_args(EventType))
    world.app.get(EventEndpoints).create(TENANT, endpoint)
    return services
