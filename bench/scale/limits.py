"""Throughput of each part, as deployed and after tuning, and the bottlenecks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from bench.scale.assumptions import Assumptions
from bench.scale.cost import Costs
from bench.scale.traffic import Activity
from local.template import Template
from skein.models.config.overrides import TenantLimits
from skein.models.outbox.due import DUE_SHARDS
from skein.services.quotas.rate_limits import rates_of
from skein.services.quotas.usage import USAGE_SHARDS
from skein.settings import Settings

PROVISIONED_TIMES = 16  # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
RATES = (10, 1_000, 100_000)  # messages per second
EVERYTHING = "everything"
SHARDS: Mapping[str, int] = {
    "a tenant's usage": USAGE_SHARDS,
    "a tenant's limits": rates_of(TenantLimits(), Settings()).together.shards,
    "due runs (gsi2)": DUE_SHARDS,
    "due SMS (gsi2)": DUE_SHARDS,
    "due chats (gsi2)": DUE_SHARDS,
    "due consolidations of groups (gsi2)": DUE_SHARDS,
    "due consolidations of direct chats (gsi2)": DUE_SHARDS,
    "other due items (gsi2)": DUE_SHARDS,
    "fading journal entries (gsi2)": DUE_SHARDS,
}


@dataclass(frozen=True)
class Key:
    """The load of one message on a kind of partition.

    Attributes:
        reads: Read units of one message and its answer.
        writes: Write units of one message and its answer.
        shards: The partitions over which the load is spread.
        holds: Messages per second that these partitions allow.
    """

    role: str
    reads: float
    writes: float
    shards: int
    holds: float


@dataclass(frozen=True)
class Bound:
    """A bottleneck.

    Attributes:
        whose: What the bottleneck limits: everything, or one tenant, agent, chat or line.
        holds: Messages per second, as deployed and with AWS's default quotas.
        turned: The same after tuning that needs no code.
        turn: The tuning.
    """

    name: str
    whose: str
    holds: float
    turned: float
    turn: str


class Limits:
    """Compute the throughput of each part.

    Args:
        assumed: Quotas and paces.
        costs: Computes how long functions work.
        template: The deployment.
        activities: The measured activities, as `Traffic.all` returns them.
    """

    def __init__(
        self,
        assumed: Assumptions,
        costs: Costs,
        template: Template,
        activities: Sequence[Activity],
    ) -> None:
        self._quotas = assumed.quotas
        self._costs = costs
        self._template = template
        self._parameters = template.parameters()
        self._turn, self._group, self._alone, self._text, self._upkeep, self._memory = activities
        self._mix = assumed.mix

    def hot_keys(self) -> list[Key]:
        """Return the load on each partition; that of an SMS if only SMS use the partition."""
        roles: dict[str, Activity] = {}
        for activity in (self._turn, self._text):
            for role in activity.shares:
                roles.setdefault(role, activity)
        found = [self._key(role, activity) for role, activity in roles.items()]
        return sorted(found, key=lambda key: key.holds)

    def _key(self, role: str, activity: Activity) -> Key:
        share, shards = activity.of(role), SHARDS.get(role, 1)
        reads = self._quotas.partition_reads / share.reads if share.reads else inf
        writes = self._quotas.partition_writes / share.writes if share.writes else inf
        return Key(role, share.reads, share.writes, shards, shards * min(reads, writes))

    # ------------------------------------------------------------------ bottlenecks

    def bounds(self) -> list[Bound]:
        """Return all bottlenecks, the tightest first."""
        found = [*self._functions(), *self._table(), *self._of_keys()]
        return sorted(found, key=lambda bound: bound.holds)

    def _functions(self) -> Iterator[Bound]:
        seconds = self._costs.seconds(self._turn)
        turn, most = seconds["RunWorker"], self._quotas.event_source_concurrency
        yield Bound(
            "concurrent runs",
            EVERYTHING,
            int(self._parameters["TurnsConcurrency"]) / turn,
            PROVISIONED_TIMES * most / turn,
            f"`TurnsConcurrency`, at most {most:,}; then `ProvisionedPollerConfig` instead, for "
            f"{PROVISIONED_TIMES} times as many; beyond that, a second queue for runs (code)",
        )
        summary = self._costs.seconds(self._upkeep)["SummaryWorker"]
        per_message = self._mix.upkeep_rounds * summary
        behind = "or a longer `SKEIN_SUMMARY_COOLDOWN_SECONDS`. Only summaries are late"
        yield self._workers("concurrent summaries", "SummariesConcurrency", 1 / per_message, behind)
        remembered = self._costs.seconds(self._memory)["ConsolidationWorker"]
        per_message = self._mix.chats_remembered * remembered
        later = "only memories are late, and nothing is lost"
        yield self._workers(
            "concurrent consolidations", "ConsolidationsConcurrency", 1 / per_message, later
        )
        text = self._costs.seconds(self._text)["SmsDelivery"]
        only = "only SMS wait. Twilio's own rates are far lower"
        yield self._workers("concurrent deliveries", "DeliveriesConcurrency", 1 / text, only)
        [api] = (v for _, v in self._template.resources("AWS::Serverless::HttpApi"))
        throttle = api["DefaultRouteSettings"]["ThrottlingRateLimit"]
        yield Bound(
            "API requests",
            EVERYTHING,
            throttle,
            self._quotas.api_requests,
            "`ThrottlingRateLimit` in `template.yaml`, then the account's quota. "
            "Clients' reads come on top",
        )
        at_once = self._quotas.concurrency / sum(seconds.values())
        yield Bound(
            "concurrent functions",
            EVERYTHING,
            at_once,
            inf,
            "the account's quota of concurrent executions, on request tens of thousands",
        )

    def _workers(self, name: str, parameter: str, per_worker: float, note: str) -> Bound:
        now, most = int(self._parameters[parameter]), self._quotas.event_source_concurrency
        return Bound(
            name, EVERYTHING, now * per_worker, most * per_worker, f"`{parameter}`; {note}"
        )

    def _table(self) -> Iterator[Bound]:
        quotas, turn = self._quotas, self._turn
        for name, writes, reads, how in (
            (
                "a new table's first minutes",
                quotas.new_table_writes,
                quotas.new_table_reads,
                "`WarmThroughput` of the table. The capacity doubles by itself within half an hour",
            ),
            (
                "the table's throughput",
                quotas.table_writes,
                quotas.table_reads,
                "the account's quota of units per table, on request",
            ),
        ):
            holds = min(writes / turn.writes, reads / turn.reads)
            yield Bound(name, EVERYTHING, holds, inf, how)

    def _of_keys(self) -> Iterator[Bound]:
        turns = {
            "a chat": ("one chat", "in a group, agents that answer only when mentioned"),
            "an agent's open items": ("one agent", "a shorter system prompt, or several agents"),
            "an agent's runs of one day (gsi1)": ("one agent", "several agents, or shards (code)"),
            "a tenant's settings": ("one tenant", "several tenants, or a cache (code)"),
            "a tenant's skills": ("one tenant", "a shorter catalog, or several tenants"),
            "a tenant's usage": ("one tenant", "`USAGE_SHARDS` (code)"),
            "a tenant's usage by agent and person": (
                "one tenant",
                "DynamoDB splits the partition by key. Refused counts are dropped (`UsageLost`)",
            ),
            "a line": ("one line", "more lines"),
            "due runs (gsi2)": (
                EVERYTHING,
                "`DUE_SHARDS` (code): one number, and existing due pointers are still found",
            ),
        }
        for key in self.hot_keys():
            if key.role in turns:
                whose, how = turns[key.role]
                yield Bound(key.role, whose, key.holds, key.holds, how)
