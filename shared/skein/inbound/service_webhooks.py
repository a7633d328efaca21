"""Webhook services, which operators register to start runs with signed webhooks.

A service's secret is derived from its stored nonce and the key shared by all services
(`secret_of`). The key is in Secrets Manager, where only `AdminApi` and `ServiceWebhook` may read
it. So a client that can only read the table cannot sign a webhook.
"""

import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_core import from_json

from skein.errors import (
    ConditionFailed,
    Forbidden,
    Invalid,
    NotFound,
    TooLarge,
    Unprocessable,
)
from skein.inbound.webhook_signature import secret_of, verified
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Delete, Is, Key, Missing, Put, Write
from skein.models.directory.agent import Agent
from skein.models.directory.webhook_service import (
    MAX_PAYLOAD_BYTES,
    SERVICE_ID,
    WebhookService,
    services_relation,
)
from skein.models.runs.trigger import ServiceTrigger, Trigger
from skein.ports import Clock, Ids, Secrets, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation
from skein.services.config.services_key import services_key
from skein.services.directory.agents import agent_is_there
from skein.services.outbox.dispatch import Dispatch
from skein.services.runs.background_runs import agent_run
from skein.settings import Settings

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.inbound.api import NewService, ServiceChange

logger = logging.getLogger(__name__)

NONCE_BYTES = 32
NO_NONCE = secrets.token_hex(NONCE_BYTES)

CHAT_ID = re.compile(r"chat_[0-9A-Za-z]{1,64}")
_OUTSIDE_TEXTS = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServices:
    """Webhook services: their records, and the runs that their webhooks start."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    keys: Secrets
    settings: Settings

    def create(self, tenant: str, new: "NewService") -> WebhookService:
        """Register a service with a new secret.

        The secret is shown once, in the answer to this request.

        Raises:
            Unprocessable: One of the agents does not exist.
        """
        webhook_service = WebhookService(
            tenant=tenant,
            id=f"svc_{self.ids.ulid()}",
            name=new.name,
            agent_ids=new.agent_ids,
            nonce=secrets.token_hex(NONCE_BYTES),
            created_at=self.clock.now(),
        )
        self._write(
            Put(webhook_service.key, webhook_service.to_item(), Missing()),
            tenant,
            webhook_service.agent_ids,
        )
        return self._with_secret(webhook_service)

    def get(self, tenant: str, service_id: str) -> WebhookService:
        """Return a service.

        Raises:
            NotFound: There is no such service in this tenant.
        """
        known = WebhookService.read(self.table, WebhookService.key_of(service_id))
        if known is None or known.tenant != tenant:
            raise NotFound("service not found")
        return known

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[WebhookService]:
        """List a page of a tenant's services, oldest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_relation(
            self.table,
            services_relation(tenant),
            WebhookService,
            of="services",
            limit=limit,
            cursor=cursor,
        )

    def change(self, tenant: str, service_id: str, change: "ServiceChange") -> WebhookService:
        """Change a service's name or the agents whose runs it starts.

        Raises:
            NotFound: There is no such service in this tenant.
            Unprocessable: One of the agents does not exist.
        """

        def attempt() -> WebhookService:
            webhook_service = self.get(tenant, service_id)
            if not change.given:
                return webhook_service
            revised, write = revise(webhook_service, change.given)
            self._write(write, tenant, change.given.get("agent_ids", ()))
            return revised

        return optimistic(self.clock, attempt)

    def rotate(self, tenant: str, service_id: str) -> WebhookService:
        """Rotate a service's secret; the old secret is invalid at once.

        Raises:
            NotFound: There is no such service in this tenant.
        """

        def attempt() -> WebhookService:
            webhook_service = self.get(tenant, service_id)
            revised, write = revise(webhook_service, {"nonce": secrets.token_hex(NONCE_BYTES)})
            self.table.write(write)
            return revised

        return self._with_secret(optimistic(self.clock, attempt))

    def delete(self, tenant: str, service_id: str) -> None:
        """Delete a service; its webhooks are refused from then on.

        Raises:
            NotFound: There is no such service in this tenant.
        """
        webhook_service = self.get(tenant, service_id)
        try:
            self.table.write(Delete(webhook_service.key, Is("tenant", tenant)))
        except ConditionFailed as failure:
            raise NotFound("service not found") from failure

    def _write(self, write: Write, tenant: str, agent_ids: tuple[str, ...]) -> None:
        try:
            self.table.transact([write, *(agent_is_there(tenant, each) for each in agent_ids)])
        except ConditionFailed as failure:
            if 0 in failure.failed:
                raise
            raise Unprocessable("agent not found") from failure

    def receive(self, service_id: str, body: bytes, signature: str) -> tuple[str, ...]:
        """Receive a webhook and start one run for each of the service's agents (idempotent).

        A webhook that is sent again does not start more runs. A run belongs to the chat that the
        payload names, if the agent is a member of the chat.

        Args:
            service_id: The id of the service, from the webhook's URL.
            body: The webhook's body: JSON, at most 64 KiB.
            signature: The webhook's header `X-Skein-Signature`.

        Returns:
            The ids of the runs. There is no run for an agent that does not exist any more.

        Raises:
            TooLarge: The body is longer than 64 KiB.
            Forbidden: The service does not exist, or the signature is missing, invalid or expired.
                The error does not say which.
            Invalid: The body is not valid JSON.
        """
        if len(body) > MAX_PAYLOAD_BYTES:
            raise TooLarge(f"the body is larger than {MAX_PAYLOAD_BYTES:,} bytes")
        known = SERVICE_ID.fullmatch(service_id)
        webhook_service = (
            WebhookService.read(self.table, WebhookService.key_of(service_id)) if known else None
        )
        now = self.clock.now()
        # Check unknown services against a secret too, so that every refusal takes the same time.
        secret = self._secret(webhook_service.nonce if webhook_service else NO_NONCE)
        delivery = verified(secret, signature, body, now)
        if webhook_service is None or delivery is None:
            raise Forbidden(
                "the signature is missing, invalid or expired", reason=Reason.WRONG_SIGNATURE
            )
        payload = compact_json(body)
        service = ServiceTrigger(
            id=webhook_service.id,
            name=webhook_service.name,
            payload=payload,
            chat_id=chat_named_in(payload),
        )
        started = [
            agent_run(
                tenant=webhook_service.tenant,
                agent_id=agent_id,
                trigger=Trigger(type="service", service=service),
                cause=("service", webhook_service.id, delivery, agent_id),
                now=now,
                chat=chat,
            )
            for agent_id, chat in self._agents_there(webhook_service, service.chat_id)
        ]
        if len(started) < len(webhook_service.agent_ids):
            logger.warning(
                "webhook started no run of a deleted agent", extra={"reason": Reason.AGENT_DELETED}
            )
        if started and self._commit([write for each in started for write in each.writes]):
            self.dispatch.send([each.job for each in started])
        return tuple(each.run.id for each in started)

    def _secret(self, nonce: str) -> str:
        """Derive a service's secret from the service's nonce and the key shared by all services.

        Raises:
            NotFound: The deployment has not enabled webhook services.
        """
        return secret_of(nonce, key=services_key(self.keys, self.settings))

    def _with_secret(self, webhook_service: WebhookService) -> WebhookService:
        secret = self._secret(webhook_service.nonce)
        return webhook_service.model_copy(update={"secret": secret})

    def _agents_there(
        self, webhook_service: WebhookService, chat_id: str | None
    ) -> Sequence[tuple[str, Chat | None]]:
        """Read a service's agents that still exist, each with the named chat if the agent is in it.

        The chat is None for an agent that is not a member. If the chat is discarded, it is None for
        every agent.
        """
        tenant, agent_ids = webhook_service.tenant, webhook_service.agent_ids
        keys: list[Key] = [Agent.key_of(tenant, each) for each in agent_ids]
        if chat_id is not None:
            refs = [MemberRef(kind="agent", id=each) for each in agent_ids]
            keys.append(Chat.key_of(tenant, chat_id))
            keys += [Membership.key_of(tenant, chat_id, ref) for ref in refs]
        found = self.table.get_many(keys)
        chat = None
        if chat_id is not None and Chat.key_of(tenant, chat_id) in found:
            chat = Chat.must_read(found, Chat.key_of(tenant, chat_id))
        if chat is not None and chat.discarded_at is not None:
            chat = None
        there = {
            str(item["member"]["id"])
            for key, item in found.items()
            if Membership.PREFIX.holds(item) and Membership.from_item(item).active
        }
        return [
            (agent_id, chat if agent_id in there else None)
            for agent_id, key in zip(agent_ids, keys, strict=False)
            if key in found and Agent.must_read(found, key).deleted_at is None
        ]

    def _commit(self, writes: Sequence[Write]) -> bool:
        """Create the runs; return False if they exist, because the webhook was received before."""
        try:
            self.table.transact(writes)
        except ConditionFailed:
            logger.info("webhook was received before", extra={"reason": Reason.REPEATED})
            return False
        return True


def chat_named_in(payload: str) -> str | None:
    """Return the `chat_id` at the top level of a payload; None if it is missing or invalid."""
    given = from_json(payload)
    chat_id = given.get("chat_id") if isinstance(given, dict) else None
    return chat_id if isinstance(chat_id, str) and CHAT_ID.fullmatch(chat_id) else None


def compact_json(body: bytes) -> str:
    """Remove the white space between the tokens of JSON; strings and numbers stay unchanged.

    Raises:
        Invalid: The body is not valid JSON in UTF-8.
    """
    try:
        from_json(body, allow_inf_nan=False)
        return _OUTSIDE_TEXTS.sub(lambda found: found[1] or "", body.decode())
    except ValueError:
        raise Invalid("the body is not valid JSON") from None
