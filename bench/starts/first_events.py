"""The first event of each function, and the items of the table that the event needs.

Skein itself writes the items: a person has texted a line and got an answer, and texts again. The
events are those that follow from the second text.
"""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from bench.starts.first_event import NOBODY
from bench.turns.script import SYSTEM_PROMPT, text
from bench.turns.scripted import Scripted
from bench.turns.stand import BEGUN
from local.events import (
    CONNECT,
    DEFAULT,
    DISCONNECT,
    Event,
    QueueMessage,
    Request,
    Response,
    http_event,
    schedule_event,
    socket_event,
    sqs_event,
)
from local.intrinsics import queue_arn
from local.twilio.webhooks import TwilioWebhooks
from local.web.routes import Routes
from skein.adapters.system import UlidIds
from skein.adapters.tokens import Tokens
from skein.identity.api import NewKey
from skein.identity.api_keys import ApiKeys
from skein.inbound.api import NewService
from skein.inbound.webhook_signature import sign
from skein.models.api.directory import NewAgent, NewLine, NewUser
from skein.models.common.storage import Item, Key, Write
from skein.models.delivery.sms import InboundSms
from skein.models.directory.webhook_service import WebhookService
from skein.models.outbox.jobs import (
    ConsolidationJob,
    DeliveryJob,
    Job,
    LiveEvent,
    PushJob,
    RunJob,
    SummaryJob,
)
from skein.ports import Clock
from skein.services.directory.assigned_numbers import AssignedNumbers
from skein.settings import Settings
from tests.fakes.sms import MemorySecrets, MemorySms
from tests.fakes.sockets import FakeSockets
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues
from tests.fakes.table import MemoryTable
from tests.support.feed import TableFeed
from tests.support.services import AllServices, build_services
from tests.support.template import deployed_template

TENANT, LINE, PHONE = "bench", "+15005550006", "+15005550100"
OPENAI = "openai"
SERVICES = "services"
TWILIO, ACCOUNT = "twilio", {"account_sid": "AC" + "0" * 32, "auth_token": "0" * 32}
BASE_URL = "http://127.0.0.1:8787"
SETTINGS = Settings(twilio_secret=TWILIO, services_secret=SERVICES, public_base_url=BASE_URL)
SECRETS = {TWILIO: ACCOUNT, SERVICES: {"key": "none"}}
INVOCATION = timedelta(seconds=60)
UNTIL_ANSWERED = 10  # seconds; longer than any debounce

J = TypeVar("J", bound=Job)


@dataclass(frozen=True)
class Scene:
    """The state of the deployment when a function handles its first event.

    Attributes:
        now: The time, in ISO 8601.
        items: All items of the table.
        events: The first event of each function, by the function's module.
        settings: The settings of the deployment. All endpoints in them are unreachable.
    """

    now: str
    items: Sequence[Item]
    events: Mapping[str, Event]
    settings: Mapping[str, Any]
    secrets: Mapping[str, Mapping[str, str]]

    def write(self, path: Path) -> None:
        """Write the scene to a file for the process of `bench.starts.first_event`."""
        path.write_bytes(pickle.dumps(asdict(self)))


class _WrittenTable(MemoryTable):
    """A table that knows the keys of all items that were written."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.keys: dict[Key, None] = {}

    def write(self, write: Write) -> None:
        self.transact([write])

    def transact(self, writes: Sequence[Write]) -> None:
        super().transact(writes)
        self.keys |= dict.fromkeys(write.key for write in writes)

    def everything(self) -> list[Item]:
        return [item for key in self.keys if (item := self.get(key)) is not None]


def scene(begun: datetime = BEGUN, account: Mapping[str, str] = ACCOUNT) -> Scene:
    """Play the story up to the moment at which each function is called.

    Args:
        begun: When the story begins.
        account: The account at Twilio, with the token that signs Twilio's requests.
    """
    story = _Story(begun, account)
    items, events = story.told()
    settings = {
        **SETTINGS.model_dump(include={"twilio_secret", "services_secret", "public_base_url"}),
        "openai_secret": OPENAI,
        "openai_base_url": f"{NOBODY}/v1",
        "twilio_api_url": NOBODY,
        "aws_endpoint_url": NOBODY,
        "live_url": f"{NOBODY.replace('http', 'wss')}/live",
    }
    secrets = {**SECRETS, OPENAI: {"api_key": "none"}}
    return Scene(story.now.isoformat(), items, events, settings, secrets)


class _Story:
    def __init__(self, begun: datetime, account: Mapping[str, str]) -> None:
        self._clock, self._account = FixedClock(begun), account
        self._table = _WrittenTable(self._clock)
        self._queues = MemoryQueues(self._clock)
        self._app: AllServices = build_services(
            SETTINGS,
            clock=self._clock,
            table=self._table,
            erasure_register=MemoryTable(self._clock),
            assigned_numbers=MemoryTable(self._clock),
            queues=self._queues,
            sms=MemorySms(self._clock),
            sockets=FakeSockets(),
            ids=UlidIds(self._clock),
            model=Scripted(),
            tokens=Tokens(),
            secrets=MemorySecrets({**SECRETS, TWILIO: account}),
            metrics=MemoryMetrics(),
        )
        self._feed = TableFeed(self._table, self._clock)
        self._webhooks: list[Request] = []
        self._twilio = TwilioWebhooks(account, base_url=BASE_URL, send=self._take)

    @property
    def now(self) -> datetime:
        return self._clock.now()

    def told(self) -> tuple[list[Item], dict[str, Event]]:
        app = self._app
        agent = app.agents.create(TENANT, NewAgent(name="Coach", system_prompt=SYSTEM_PROMPT))
        app.get(AssignedNumbers).assign(TENANT, LINE)
        app.lines.create(TENANT, NewLine(phone=LINE, agent_id=agent.id))
        self._receive(1)
        app.turns.take(self._job(RunJob), deadline=self.now + INVOCATION)
        answer = self._job(DeliveryJob)
        app.deliveries.deliver(answer, deadline=self.now + INVOCATION)
        self._receive(2)
        app.turns.take(self._job(RunJob), deadline=self.now + INVOCATION)
        self._receive(3)
        source = app.webhook_services.create(TENANT, NewService(name="Jira", agent_ids=(agent.id,)))
        chat, caller = answer.chat_id, {"sub": app.users.create(TENANT, NewUser(name="Mira")).id}
        where = {"tenant": TENANT, "chat_id": chat}
        jobs = {
            "run_worker": self._job(RunJob),
            "sms_delivery": self._job(DeliveryJob),
            "upkeep_worker": SummaryJob(agent_id=agent.id, **where),
            "background_worker": ConsolidationJob(**where),
            "push_worker": PushJob(events=(LiveEvent(type="chat"),), **where),
        }
        schedules = ("tick", "background_finder")
        events = {
            **{name: self._job_event(job) for name, job in jobs.items()},
            **{name: schedule_event(name, self.now) for name in schedules},
            "feed": {"Records": self._feed.unread()},
            **self._live_events(),
            "sms_webhook": self._sms_event(),
            "sms_status": self._status_event(answer),
            "service_webhook": self._service_event(source),
            "authorizer": {"identitySource": [f"Bearer {self._key()}"]},
            "mobile_api": self._http_event(Request("GET", "/v1/chats"), "chat", caller),
            "admin_api": self._http_event(Request("GET", "/v1/agents"), "admin", caller),
            "console": self._http_event(Request("GET", "/console/"), "", caller),
            "api_docs": self._http_event(Request("GET", "/openapi.json"), "", caller),
        }
        return self._table.everything(), events

    # ------------------------------------------------------------------ what happens

    def _receive(self, number: int) -> None:
        sms = InboundSms(
            account_sid=self._account["account_sid"],
            message_sid=f"SM{number:032}",
            sender=PHONE,
            recipient=LINE,
            body=text(number),
        )
        self._app.sms_receiver.receive(sms)
        self._clock.advance(UNTIL_ANSWERED)

    def _job(self, kind: type[J]) -> J:
        [job] = self._queues.ready(kind.queue)
        if not isinstance(job, kind):
            raise TypeError(f"{job!r} is not a {kind.__name__}")
        return job

    # ------------------------------------------------------------------ events of it

    def _job_event(self, job: Job) -> Event:
        message = QueueMessage("1", "1", job.model_dump_json(), "", 1, self.now, self.now)
        return sqs_event(queue_arn(job.queue), [message])

    def _take(self, request: Request) -> Response:
        self._webhooks.append(request)
        return Response(200)

    def _live_events(self) -> dict[str, Event]:
        """Return the events of a connection that opens, asks for a pong, and is closed."""
        tickets = self._app.live_tickets
        secret = tickets.issue(TENANT, "usr_live", token_ends_at=None).ticket
        other = tickets.issue(TENANT, "usr_live", token_ends_at=None).ticket
        self._app.live_connections.connect(other, "open")
        return {
            "live_connect": socket_event(CONNECT, "new", now=self.now)
            | {"queryStringParameters": {"ticket": secret}},
            "live_frames": socket_event(DEFAULT, "open", now=self.now)
            | {"body": '{"type": "ping"}'},
            "live_disconnect": socket_event(DISCONNECT, "open", now=self.now),
        }

    def _key(self) -> str:
        new = NewKey(name="Server", roles=("support",))
        return self._app.get(ApiKeys).create(TENANT, new, by="usr_op", roles=("support",)).text

    def _sms_event(self) -> Event:
        self._twilio.text(sender=PHONE, recipient=LINE, body=text(4))
        return self._http_event(self._webhooks.pop())

    def _status_event(self, delivery: DeliveryJob) -> Event:
        query = f"tenant={TENANT}&chat={delivery.chat_id}&delivery={delivery.delivery_id}&part=0"
        fields = {"MessageSid": f"SM{1:032x}", "MessageStatus": "delivered"}
        self._twilio.post(f"{BASE_URL}/webhooks/twilio/status?{query}", fields)
        return self._http_event(self._webhooks.pop())

    def _service_event(self, source: WebhookService) -> Event:
        body, sent_at = b'{"issue": "SKEIN-1"}', str(int(self.now.timestamp()))
        signature = f"t={sent_at},v1={sign(source.secret, sent_at, body)}"
        headers = {"content-type": "application/json", "x-skein-signature": signature}
        return self._http_event(
            Request("POST", f"/webhooks/services/{source.id}", headers=headers, body=body)
        )

    def _http_event(
        self, request: Request, scope: str = "", claims: Mapping[str, str] | None = None
    ) -> Event:
        match = Routes(deployed_template().functions).match(request.method, request.path)
        if match is None:
            raise LookupError(f"route not found: {request.path}")
        claimed = {"tenant": TENANT, "scope": scope, **(claims or {})}
        return http_event(
            request,
            route_key=match.key,
            path_parameters=match.path_parameters,
            authorizer={"lambda": {"source": "issuer", "claims": claimed}} if scope else None,
            now=self.now,
        )
