"""Cost of the calls of a visit of the web chat.

`python -m bench.turns.visits DYNAMODB` prints one line of JSON for each call.
"""

import json
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.cost import Row, Turn, measured, row_of
from bench.turns.engines import client_of, make_table
from bench.turns.script import SYSTEM_PROMPT, text
from bench.turns.skein_chat import TENANT, TurnFailedError
from bench.turns.stand import BEGUN, Stand
from bench.turns.vectors import IndexedTable
from bench.turns.wire import Wire
from skein.adapters.tokens import Tokens
from skein.identity.models.credential import Credential
from skein.identity.visit_tokens import VisitTokens
from skein.models.common.base import MemberRef
from skein.models.common.storage import Put
from skein.models.directory.agent import Agent
from skein.services.chats.post_message import NewMessage
from skein.settings import Settings
from skein.web_chat.admission import VisitAdmission
from skein.web_chat.api import NewVisit, NewWidget
from skein.web_chat.messages import VisitMessages
from skein.web_chat.models.widget import PublicProfile
from skein.web_chat.visits import Visits
from skein.web_chat.widgets import Widgets
from tests.fakes.sms import MemorySecrets
from tests.support.services import AllServices

TABLE = "skein-visits"
VISITS = 9
OPENED, FIRST, MESSAGE = "visit opened", "first message of a visit", "message of a visit"
PAGE = "https://shop.example"


class VisitedShop:
    """A business with a widget, and the services of its visitors.

    Attributes:
        app: The services, as in a warm container of the API.
    """

    def __init__(self, stand: Stand) -> None:
        stand.ports["secrets"] = MemorySecrets({"": {"key": "the key of the stack"}})
        self.app: AllServices = stand.new_app()
        agent = Agent(
            tenant=TENANT,
            id="agt_visits",
            name="Coach",
            system_prompt=SYSTEM_PROMPT,
            reply_mode="text",
            created_at=BEGUN,
        )
        stand.table.write(Put(agent.key, agent.to_item()))
        new = NewWidget(agent_id=agent.id, origins=(PAGE,), public=PublicProfile(name="Shop"))
        self.widget_id = self.app.get(Widgets).create(TENANT, new).id


class Visit:
    """A visit of a page of the business."""

    def __init__(self, shop: VisitedShop) -> None:
        self._shop = shop
        self._token = ""
        self._said = 0

    def open(self) -> None:
        """Open the visit."""
        app = self._shop.app
        claims = app.get(Visits).open(
            self._shop.widget_id, NewVisit(), origin=PAGE, address="203.0.113.7"
        )
        self._token = app.get(VisitTokens).sign("visit", claims)

    def write(self) -> None:
        """Post a message, whose token is checked first."""
        app = self._shop.app
        credential = Credential.parse(self._token)
        if credential is None:
            raise TurnFailedError("open the visit first")
        claims = app.get(VisitTokens).read(credential)
        self._said += 1
        call = f"POST /v1/chats/{claims.chat_id}/messages"
        app.get(VisitAdmission).check(claims, call=call, origin=PAGE)
        new = NewMessage(
            tenant=claims.tenant,
            chat_id=claims.chat_id,
            sender=MemberRef(kind="user", id=claims.visitor_id),
            text=text(self._said),
            client_id=f"said-{self._said}",
        )
        app.get(VisitMessages).post(claims, new)


def rows(client: Any, wire: Wire, table: str, *, visits: int = VISITS) -> Iterator[Row]:
    """Yield one row of the results for each API call, measured over `visits` visits."""
    stand = Stand(partial(IndexedTable, client, table), Tokens(), settings=Settings(web_chat=True))
    shop = VisitedShop(stand)
    found: dict[str, list[Turn]] = {OPENED: [], FIRST: [], MESSAGE: []}
    for _ in range(visits):
        visit = Visit(shop)
        for name, call in ((OPENED, visit.open), (FIRST, visit.write), (MESSAGE, visit.write)):
            found[name].append(measured(wire, call))
    for name, turns in found.items():
        yield row_of(name, 0, turns)


def main(url: str) -> None:
    """Measure the calls on the DynamoDB at this URL."""
    client, wire = client_of(url), Wire()
    make_table(client, TABLE)
    wire.listen(client)
    for row in rows(client, wire, TABLE):
        print(json.dumps(row.plain()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
