"""Services outside that wake agents: registered by operators, heard through signed webhooks."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_core import from_json

from skein.errors import ConditionFailed, Forbidden, Invalid, NotFound, TooLarge, Unprocessable
from skein.models.agent import Agent
from skein.models.source import MAX_PAYLOAD_BYTES, SOURCE_ID, Source, sources_relation
from skein.models.storage import Delete, Is, Missing, Put, Write
from skein.models.trigger import ServiceTrigger, Trigger
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation
from skein.services.directory.agents import agent_is_there
from skein.services.inbound.webhook_signature import verified
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.background_runs import agent_run
from skein.settings import Settings

if TYPE_CHECKING:
    # Only the API makes these, and only it loads them.
    from skein.models.api.services import NewService, ServiceChange

SECRET_BYTES = 32
NO_SECRET = secrets.token_hex(SECRET_BYTES)

CHAT_ID = re.compile(r"chat_[0-9A-Za-z]{1,64}")
_OUTSIDE_TEXTS = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServices:
    """Keeps the sources' records, and turns their deliveries into runs."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    settings: Settings

    def create(self, tenant: str, new: "NewService") -> Source:
        """Register a service, with a secret that nobody is shown again.

        Raises:
            Unprocessable: There is no such agent.
        """
        source = Source(
            tenant=tenant,
            id=f"svc_{self.ids.ulid()}",
            name=new.name,
            agent_ids=new.agent_ids,
            secret=secrets.token_hex(SECRET_BYTES),
            created_at=self.clock.now(),
        )
        self._write(Put(source.key, source.to_item(), Missing()), tenant, source.agent_ids)
        return source

    def get(self, tenant: str, source_id: str) -> Source:
        """One service.

        Raises:
            NotFound: There is no such service in this tenant.
        """
        item = self.table.get(Source.key_of(source_id))
        if item is None or item["tenant"] != tenant:
            raise NotFound("there is no such service")
        return Source.from_item(item)

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Source]:
        """A page of a tenant's services, the oldest first.

        Raises:
            Invalid: The cursor is not one of this list.
        """
        return list_relation(
            self.table,
            sources_relation(tenant),
            Source,
            of="services",
            limit=limit,
            cursor=cursor,
        )

    def change(self, tenant: str, source_id: str, change: "ServiceChange") -> Source:
        """Change a service's name, or whom it wakes.

        Raises:
            NotFound: There is no such service in this tenant.
            Unprocessable: There is no such agent.
        """

        def attempt() -> Source:
            source = self.get(tenant, source_id)
            if not change.given:
                return source
            revised, write = revise(source, change.given)
            self._write(write, tenant, change.agent_ids or ())
            return revised

        return optimistic(self.clock, attempt)

    def rotate(self, tenant: str, source_id: str) -> Source:
        """Give a service a new secret; the old one counts no more.

        Raises:
            NotFound: There is no such service in this tenant.
        """

        def attempt() -> Source:
            source = self.get(tenant, source_id)
            revised, write = revise(source, {"secret": secrets.token_hex(SECRET_BYTES)})
            self.table.write(write)
            return revised

        return optimistic(self.clock, attempt)

    def delete(self, tenant: str, source_id: str) -> None:
        """Let a service go: its deliveries are refused from now on.

        Raises:
            NotFound: There is no such service in this tenant.
        """
        source = self.get(tenant, source_id)
        try:
            self.table.write(Delete(source.key, Is("tenant", tenant)))
        except ConditionFailed as failure:
            raise NotFound("there is no such service") from failure

    def _write(self, write: Write, tenant: str, agent_ids: tuple[str, ...]) -> None:
        try:
            self.table.transact([write, *(agent_is_there(tenant, each) for each in agent_ids)])
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise
            raise Unprocessable("there is no such agent") from failure

    def receive(self, source_id: str, body: bytes, signature: str) -> tuple[str, ...]:
        """Take a delivery in: each of the service's agents gets one run, however often it comes.

        Args:
            source_id: Whom the webhook names.
            body: What it carries: JSON, 64 KiB at most.
            signature: Its header `X-Skein-Signature`.

        Returns:
            The ids of the runs; agents that are gone have none.

        Raises:
            TooLarge: The body is longer.
            Forbidden: There is no such service, or the signature is not right; nobody learns which.
            Invalid: The body is no JSON.
        """
        if len(body) > MAX_PAYLOAD_BYTES:
            raise TooLarge(f"the body holds more than {MAX_PAYLOAD_BYTES:,} bytes")
        known = SOURCE_ID.fullmatch(source_id)
        item = self.table.get(Source.key_of(source_id)) if known else None
        source = Source.from_item(item) if item else None
        now = self.clock.now()
        # Who is not there is held against a secret, too, so that refusals take the same time.
        secret = source.secret if source else NO_SECRET
        delivery = verified(secret, signature, body, now)
        if source is None or delivery is None:
            raise Forbidden("the signature is missing, wrong or too old")
        payload = compact_json(body)
        service = ServiceTrigger(
            id=source.id, name=source.name, payload=payload, chat_id=chat_named_in(payload)
        )
        started = [
            agent_run(
                tenant=source.tenant,
                agent_id=agent_id,
                trigger=Trigger(type="service", service=service),
                cause=("service", source.id, delivery, agent_id),
                now=now,
                settings=self.settings,
            )
            for agent_id in self._agents_there(source)
        ]
        if started and self._commit([write for each in started for write in each.writes]):
            self.dispatch.send([each.job for each in started])
        return tuple(each.run.id for each in started)

    def _agents_there(self, source: Source) -> Sequence[str]:
        keys = {Agent.key_of(source.tenant, each): each for each in source.agent_ids}
        found = self.table.get_many([*keys])
        agents = {key: Agent.from_item(item) for key, item in found.items()}
        return [
            agent_id
            for key, agent_id in keys.items()
            if key in agents and agents[key].deleted_at is None
        ]

    def _commit(self, writes: Sequence[Write]) -> bool:
        """Create the runs; False if a delivery that came before has created them."""
        try:
            self.table.transact(writes)
        except ConditionFailed:
            return False
        return True


def chat_named_in(payload: str) -> str | None:
    """Return the chat that a payload names by `chat_id` in its outermost object, if it does."""
    given = from_json(payload)
    chat_id = given.get("chat_id") if isinstance(given, dict) else None
    return chat_id if isinstance(chat_id, str) and CHAT_ID.fullmatch(chat_id) else None


def compact_json(body: bytes) -> str:
    """JSON without the space between its parts; its texts and numbers stay as they came.

    Raises:
        Invalid: This is no JSON in UTF-8.
    """
    try:
        from_json(body, allow_inf_nan=False)
        return _OUTSIDE_TEXTS.sub(lambda found: found[1] or "", body.decode())
    except ValueError:
        raise Invalid("the body is not valid JSON") from None
