"""The cost of a million activities, by AWS service, at public list prices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from bench.scale.assumptions import Assumptions
from bench.scale.traffic import Activity
from local.template import Template

MILLION = 1_000_000
GIB = 1024**3
MIB_OF_A_GIB = 1_024


@dataclass(frozen=True)
class Bill:
    """Dollars for a million activities."""

    writes: float = 0.0
    reads: float = 0.0
    functions: float = 0.0
    queues: float = 0.0
    gateway: float = 0.0
    logs: float = 0.0
    stored: float = 0.0

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return float(sum(getattr(self, part.name) for part in fields(self)))

    def plus(self, other: "Bill", times: float = 1.0) -> "Bill":
        """Return this bill plus a multiple of another."""
        both = {
            part.name: getattr(self, part.name) + times * getattr(other, part.name)
            for part in fields(self)
        }
        return Bill(**both)


class Costs:
    """Compute bills.

    Args:
        assumed: Prices and paces.
        template: The template, with the memory of functions.
    """

    def __init__(self, assumed: Assumptions, template: Template) -> None:
        self._assumed = assumed
        self._functions = {function.logical_id: function for function in template.functions}

    def of(self, activity: Activity) -> Bill:
        """Return the bill of a million activities; storage is for a month, with backup."""
        prices = self._assumed
        seconds = self.seconds(activity)
        gib_seconds = sum(
            self._functions[name].memory / MIB_OF_A_GIB * lasted for name, lasted in seconds.items()
        )
        invocations = activity.each(activity.invocations.total())
        by_http = sum(
            activity.each(count)
            for name, count in activity.invocations.items()
            if self._functions[name].routes
        )
        keeping = prices.dynamodb.gib_month + prices.dynamodb.backup_gib_month
        jobs = activity.each(activity.jobs.total())
        return Bill(
            writes=activity.writes * prices.dynamodb.write_million,
            reads=activity.reads * prices.dynamodb.read_million,
            functions=MILLION * gib_seconds * prices.lambda_.gib_second
            + invocations * prices.lambda_.request_million,
            queues=jobs * prices.sqs.requests_of_a_job * prices.sqs.request_million,
            gateway=by_http * prices.http_api.request_million
            + activity.each(activity.frames) * prices.websocket_api.message_million
            + activity.each(activity.minutes) * prices.websocket_api.minute_million,
            logs=MILLION * invocations * prices.pace.log_kib * 1_024 / GIB * prices.logs.gib,
            stored=MILLION * activity.each(activity.stored) / GIB * keeping,
        )

    def seconds(self, activity: Activity) -> Mapping[str, float]:
        """Return the seconds that each function works on one activity, with calls in sequence."""
        return dict(self._seconds(activity))

    def _seconds(self, activity: Activity) -> Iterator[tuple[str, float]]:
        pace = self._assumed.pace
        waits = {
            "RunWorker": pace.model_seconds,
            "SummaryWorker": pace.light_model_seconds,
            "ConsolidationWorker": pace.remembering_seconds,
            "SmsDelivery": pace.twilio_seconds,
        }
        for name, count in activity.invocations.items():
            calls = pace.of(self._functions[name].memory)
            call_ms = calls.wire_ms + calls.busy_ms
            own = activity.each(count) * (pace.own_ms / 1_000 + waits.get(name, 0.0))
            yield name, own + activity.each(activity.calls[name]) * call_ms / 1_000

    def mixed(self, activities: Sequence[Activity]) -> Bill:
        """Return the bill of a million direct chat messages with their background work."""
        turn, _, _, _, upkeep, remembered = (self.of(activity) for activity in activities)
        mix = self._assumed.mix
        return turn.plus(upkeep, mix.upkeep_rounds).plus(remembered, mix.chats_remembered)
