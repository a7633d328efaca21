"""How far each part goes as it is deployed, how far it can be turned, and what breaks first."""

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
RATES = (10, 1_000, 100_000)  # messages a second
SHARDS: Mapping[str, int] = {
    "a tenant's usage of a day": USAGE_SHARDS,
    "a tenant's limits": rates_of(TenantLimits(), Settings()).together.shards,
    "what is due, runs (gsi2)": DUE_SHARDS,
    "what is due, texts (gsi2)": DUE_SHARDS,
    "what is due, chats (gsi2)": DUE_SHARDS,
    "what is due, consolidation (gsi2)": DUE_SHARDS,
    "what is due, direct chats (gsi2)": DUE_SHARDS,
    "what is due, other (gsi2)": DUE_SHARDS,
    "what is due, fading (gsi2)": DUE_SHARDS,
}


@dataclass(frozen=True)
class Key:
    """How hot a kind of partition gets.

    Attributes:
        reads: Units of one message in each of the shards that it may fall to.
        holds: Messages a second that the partitions of one such thing bear.
    """

    role: str
    reads: float
    writes: float
    shards: int
    holds: float


@dataclass(frozen=True)
class Bound:
    """Something that gives way.

    Attributes:
        holds: Messages a second, as deployed and with AWS's first quotas.
        turned: The same, once what can be turned without code is.
        turn: What is turned, or what code it takes.
    """

    name: str
    whose: str
    holds: float
    turned: float
    turn: str


class Limits:
    """Computes bounds.

    Args:
        assumed: Quotas and paces.
        costs: Knows how long functions work.
        template: The deployment.
        activities: What was measured, the usual message first.
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
        """The hottest keys of a message and its answer, by text where only texts touch them."""
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

    # ------------------------------------------------------------------ what breaks first

    def bounds(self) -> list[Bound]:
        """All of them, the first to give way first."""
        found = [*self._functions(), *self._table(), *self._of_keys()]
        return sorted(found, key=lambda bound: bound.holds)

    def _functions(self) -> Iterator[Bound]:
        seconds = self._costs.seconds(self._turn)
        turn, most = seconds["RunWorker"], self._quotas.event_source_concurrency
        yield Bound(
            "runs at once",
            "all",
            int(self._parameters["TurnsConcurrency"]) / turn,
            PROVISIONED_TIMES * most / turn,
            f"`TurnsConcurrency`, which goes to {most:,}; for {PROVISIONED_TIMES} times that "
            "`ProvisionedPollerConfig` in its place; then a second queue for runs, which is code",
        )
        summary = self._costs.seconds(self._upkeep)["SummaryWorker"]
        per_message = self._mix.upkeep_rounds * summary
        behind = (
            "summaries fall behind, and nothing else; a longer `SKEIN_SUMMARY_COOLDOWN_SECONDS`"
        )
        yield self._workers("summaries at once", "SummariesConcurrency", 1 / per_message, behind)
        remembered = self._costs.seconds(self._memory)["ConsolidationWorker"]
        per_message = self._mix.chats_remembered * remembered
        later = "memories come later, and nothing is lost"
        yield self._workers(
            "consolidations at once", "ConsolidationsConcurrency", 1 / per_message, later
        )
        text = self._costs.seconds(self._text)["SmsDelivery"]
        only = "texts only; Twilio's own rates are far lower"
        yield self._workers("deliveries at once", "DeliveriesConcurrency", 1 / text, only)
        [api] = (v for _, v in self._template.resources("AWS::Serverless::HttpApi"))
        throttle = api["DefaultRouteSettings"]["ThrottlingRateLimit"]
        yield Bound(
            "requests to the API",
            "all",
            throttle,
            self._quotas.api_requests,
            "`ThrottlingRateLimit` in `template.yaml`, then the account's quota, more on request; "
            "what clients read comes on top",
        )
        at_once = self._quotas.concurrency / sum(seconds.values())
        yield Bound(
            "functions at once",
            "all",
            at_once,
            inf,
            "the account's quota of concurrent executions, in tens of thousands on request",
        )

    def _workers(self, name: str, parameter: str, per_worker: float, note: str) -> Bound:
        now, most = int(self._parameters[parameter]), self._quotas.event_source_concurrency
        return Bound(name, "all", now * per_worker, most * per_worker, f"`{parameter}`; {note}")

    def _table(self) -> Iterator[Bound]:
        quotas, turn = self._quotas, self._turn
        for name, writes, reads, how in (
            (
                "a new table's first minutes",
                quotas.new_table_writes,
                quotas.new_table_reads,
                "`WarmThroughput` of the table; it doubles by itself within half an hour",
            ),
            (
                "the table's throughput",
                quotas.table_writes,
                quotas.table_reads,
                "the account's quota of units for a table, on request",
            ),
        ):
            holds = min(writes / turn.writes, reads / turn.reads)
            yield Bound(name, "all", holds, inf, how)

    def _of_keys(self) -> Iterator[Bound]:
        turns = {
            "a chat": ("one chat", "a person waits; in a group agents that answer when mentioned"),
            "an agent, open things": ("one agent", "a shorter system prompt; several agents"),
            "an agent's runs of a day (gsi1)": ("one agent", "several agents; shards are code"),
            "a tenant's settings": ("one tenant", "several tenants; keeping them is code"),
            "a tenant's skills": ("one tenant", "several tenants; a shorter catalog"),
            "a tenant's usage of a day": ("one tenant", "`USAGE_SHARDS`, which is code"),
            "a day's usage by agent and person": (
                "one tenant",
                "DynamoDB splits it by key; counts that it refuses are dropped (`UsageLost`)",
            ),
            "a line": ("one line", "more lines"),
            "what is due, runs (gsi2)": (
                "all",
                "`DUE_SHARDS`, which is code: one number, and marks that are there stay found",
            ),
        }
        for key in self.hot_keys():
            if key.role in turns:
                whose, how = turns[key.role]
                yield Bound(key.role, whose, key.holds, key.holds, how)
