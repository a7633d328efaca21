"""A page with the web chat, on another origin than the API: `http://localhost`, not `127.0.0.1`."""

import html
from dataclasses import dataclass
from urllib.parse import parse_qs

from local.demo import TENANT
from local.events import Request, Response
from skein.bootstrap.wiring import App
from skein.services.directory.agents import Agents
from skein.web_chat.api import NewWidget
from skein.web_chat.models.widget import PublicProfile
from skein.web_chat.widgets import Widgets

PATH = "/local/page"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A page with a web chat</title>
<h1>A page with a web chat</h1>
<p>This page is of the origin {origin}, and calls the API at {url}. The button opens the chat.</p>
<skein-chat widget="{widget}"></skein-chat>
<script async src="{url}/widget/v1.js"></script>
</html>
"""


@dataclass(frozen=True)
class ChatPage:
    """Serves the page. Its widget is named in the page's URL, or is one of the demo's tenant.

    Attributes:
        url: The stack's URL, whose host is 127.0.0.1.
    """

    url: str

    def answer(self, request: Request, app: App) -> Response:
        """Return the page. Its content security policy allows only what the web chat needs."""
        origin = self.url.replace("127.0.0.1", "localhost")
        asked = parse_qs(request.query).get("widget")
        widget = asked[0] if asked else self._demo(app, origin)
        values = {"origin": origin, "url": self.url, "widget": widget}
        page = PAGE.format(**{name: html.escape(value) for name, value in values.items()})
        policy = (
            f"default-src 'none'; script-src {self.url}/widget/; "
            f"connect-src {self.url} ws://127.0.0.1:*; require-trusted-types-for 'script'"
        )
        headers = [
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", policy),
        ]
        return Response(200, headers, page.encode())

    def _demo(self, app: App, origin: str) -> str:
        """Return the id of the demo tenant's widget for this origin; create it if there is none."""
        widgets = app.get(Widgets)
        for each in widgets.list(TENANT).items:
            if origin in each.origins:
                return each.id
        agent = app.get(Agents).list(TENANT).items[0]
        profile = PublicProfile(name=agent.name)
        new = NewWidget(agent_id=agent.id, origins=(origin,), public=profile)
        return widgets.create(TENANT, new).id
