"""Limits of visitors: for each visitor, for all visitors of a widget, and for each network.

All limits are token buckets (`services/quotas`). The visitors of a widget share a pool of model
tokens: each run of a visitor reserves tokens in the pool before it begins.
"""

import hmac
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from skein.errors import RateLimited
from skein.identity.models.visit import VisitClaims
from skein.identity.visit_tokens import VisitTokens
from skein.models.common.storage import Item, Update
from skein.models.quotas.limit import DAY, HOUR, MINUTE, Allowance, Rate, owner_of_pool
from skein.ports import Clock, Secrets, Table
from skein.services.quotas.rate_limits import RateLimiter
from skein.settings import Settings
from skein.web_chat.models.widget import Widget

OF_NETWORK = Rate(300, HOUR)
OF_VISITOR = (("minute", Rate(10, MINUTE)), ("day", Rate(60, DAY)))
FULL = "We can't take more messages here right now. Please try again later."
NETWORK_BITS = 64  # of an IPv6 address; one customer has at least that many addresses
HASH_CHARACTERS = 32
EDGE_HEADER = "x-skein-edge"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitLimits:
    """The service that applies the limits of visitors."""

    table: Table
    clock: Clock
    rate_limiter: RateLimiter
    tokens: VisitTokens
    secrets: Callable[[], Secrets]
    settings: Settings

    def address_of(self, source_ip: str, headers: Mapping[str, str]) -> str:
        """Return the IP address of the visitor who sends a request.

        With `Edge=on`, requests reach the gateway through CloudFront, which sends a secret header
        as proof and appends the visitor's address to `X-Forwarded-For`.

        Args:
            source_ip: The address of the client that has connected to the gateway.
            headers: The headers of the request, with names in lower case.
        """
        secret = self.settings.edge_secret
        given = headers.get(EDGE_HEADER, "")
        if not secret or not given:
            return source_ip
        if not hmac.compare_digest(self.secrets().get(secret)["key"].encode(), given.encode()):
            return source_ip
        passed = [each.strip() for each in headers.get("x-forwarded-for", "").split(",")]
        return next((each for each in reversed(passed) if each != source_ip), "") or source_ip

    def admit_visit(self, widget: Widget, address: str) -> None:
        """Take one visit from the buckets of the visitor's network and of the widget.

        Only a hash of the network is stored. The hash is different on each day.

        Args:
            address: The IP address of the visitor.

        Raises:
            RateLimited: One of the buckets is empty.
        """
        day = self.clock.now().date().isoformat()
        hashed = self.tokens.keyed(f"network:{day}", network_of(address)).hex()
        self._take(widget, f"network:{hashed[:HASH_CHARACTERS]}", OF_NETWORK)
        self._take(widget, f"visits:{widget.id}", Rate(widget.limits.visits_per_minute, MINUTE))

    def admit_message(self, widget: Widget, claims: VisitClaims) -> None:
        """Take one message from the buckets of the visitor and of the widget.

        Raises:
            RateLimited: One of the buckets is empty, or no model tokens are left for an answer.
        """
        for span, rate in OF_VISITOR:
            self._take(widget, f"visit-{span}:{claims.visitor_id}", rate)
        pool = self._bucket(widget, owner_of_pool(widget.pool))
        rate = Rate(pool.tokens_per_day or 0, DAY)
        wait = rate.waiting(pool.tokens_full_at, pool.permits.reserved() + 1, self.clock.now())
        if wait:
            _refuse(widget, max(1, round(wait.total_seconds())))
        self._take(widget, f"visit-messages:{widget.id}", Rate(widget.limits.messages_per_day, DAY))

    def used(self, widget: Widget) -> tuple[int, int]:
        """Return how many messages and model tokens a widget's visitors have used."""
        now, pool = self.clock.now(), self._bucket(widget, owner_of_pool(widget.pool))
        stored = self._bucket(widget, f"visit-messages:{widget.id}")
        messages = Rate(widget.limits.messages_per_day, DAY).used(stored.visits_full_at, now)
        tokens = Rate(pool.tokens_per_day or 1, DAY).used(pool.tokens_full_at, now)
        return round(messages), round(tokens)

    def _bucket(self, widget: Widget, owner: str) -> Allowance:
        item = self.table.get(Allowance.key_of(widget.tenant, owner))
        return Allowance.from_optional(item, widget.tenant, owner)

    def _take(self, widget: Widget, owner: str, rate: Rate) -> None:
        try:
            self.rate_limiter.take(widget.tenant, owner, rate, "visits")
        except RateLimited as refused:
            _refuse(widget, refused.retry_after_seconds)


def pool_write(widget: Widget, settings: Settings) -> Update:
    """Return the write that sets the model tokens and tools that a widget's visitors share.

    The stored limit is lower by the tokens of one answer, so that the last answer does not exceed
    the widget's limit.
    """
    owner = owner_of_pool(widget.pool)
    kept_back = settings.max_prompt_tokens + settings.reserved_response_tokens
    size = max(1, widget.limits.tokens_per_day - kept_back)
    values: Item = {"tenant": widget.tenant, "owner": owner, "expires_at": None}
    values |= {"tokens_per_day": size, "tools": list(widget.tools)}
    return Update(Allowance.key_of(widget.tenant, owner), set=values)


def network_of(address: str) -> str:
    """Return the network of an IP address: its /64 for IPv6, the address itself for IPv4."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    network = ipaddress.ip_network(f"{known}/{NETWORK_BITS}", strict=False)
    return str(known.ipv4_mapped or network)


def _refuse(widget: Widget, seconds: int) -> NoReturn:
    """Refuse a request with a fixed text and the widget's other ways to reach the business.

    Raises:
        RateLimited: Always.
    """
    refused = RateLimited(FULL, retry_after_seconds=seconds)
    refused.details["ways"] = [way.model_dump() for way in widget.public.ways]
    raise refused
