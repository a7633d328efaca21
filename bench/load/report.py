"""The report of a load run: the printed tables, and `bench/load.md` or `bench/load-faults.md`."""

from collections import Counter
from collections.abc import Sequence
from statistics import quantiles

from bench.load.caches import told
from bench.load.noise import Noise
from bench.load.run import Outcome
from bench.report import markdown_table, printed

MAX_TOLD = 10

OPENING = """\
# Many people at once

Written by `make load`, not by hand. The whole local stack runs on one machine, with its data in
memory where that has room. Each handler runs in a process of its own, one event at a time. The
people are threads of another process. A phone sends bursts of one to three SMS within {gap:g}
seconds, and the line's debounce is three seconds. All phones text one line, whose limit of segments
per minute is off. A third of the phones sends a picture with the first SMS of each burst. The model
answers after 0.3 s.

A message counts as acknowledged when its sender was told so, with retries under the same id. The
time of an answer is from the acknowledgement of the burst's first message until the person sees the
answer; the person looks once a second at first. Afterwards, the clock is turned until no work is
left, and the whole table is checked.

In the second half of the time, another tenant is noisy: every 30 seconds, one of its people writes
in 10 chats with 20 agents each. Agents' messages start no runs here.
"""
OPENING_WITH_FAULTS = """\
# Many people at once, while everything fails

Written by `make load FAULTS=1`, not by hand. People, measures and checks are those of
[load.md](load.md). Each call of Twilio and the model, and each request of a person, fails with a
probability of 5 %: it is throttled, its connection breaks, or its answer is lost, before or after
it has taken effect. So does 1 % of the calls of the table and the queues, after the retries of an
SDK. Half of the messages in queues come up to two seconds late, so that others
overtake them. A tenth come twice. Every five seconds, a working container is killed.
"""


def figures(outcome: Outcome) -> list[list[str]]:
    """Return the table of counts and times."""
    lines = outcome.ledger
    whats = Counter(line["what"] for line in lines)
    messages = [line for line in lines if line["what"] == "message"]
    answers = [line["seconds"] for line in lines if line["what"] == "answered"]
    runs = Counter[str](run.status for run in outcome.found.runs)
    seconds = outcome.plan.seconds
    tried = sum(line["tries"] > 1 for line in messages)
    return [
        ["", "p50", "p95", "p99", "count"],
        ["message acknowledged, s", *_percentiles([m["seconds"] for m in messages])],
        ["burst answered, s", *_percentiles(answers)],
        ["messages a second", f"{len(messages) / seconds:.1f}", "", "", ""],
        ["answers a second", f"{runs['done'] / seconds:.1f}", "", "", ""],
        ["messages sent more than once", "", "", "", f"{tried}"],
        ["messages refused", "", "", "", f"{whats['refused']}"],
        ["bursts not answered within a minute", "", "", "", f"{whats['unanswered']}"],
        *([f"runs {status}", "", "", "", str(runs[status])] for status in sorted(runs)),
        ["calls of the model", "", "", "", f"{outcome.model_calls}"],
        ["bookings by a tool", "", "", "", f"{sum(outcome.found.bookings.values())}"],
        ["texts that reached phones", "", "", "", f"{len(outcome.found.sms)}"],
        ["pictures of messages", "", "", "", f"{len(outcome.found.files)}"],
        *told(outcome.lookups),
        ["texts that came twice", "", "", "", f"{doubled(outcome)}"],
        ["containers killed", "", "", "", f"{outcome.killed}"],
    ]


def neighbors(noise: Noise) -> list[list[str]]:
    """Return the table of answer times without and with the noisy tenant."""
    rise = f"{noise.rise:.2f}" if noise.rise is not None else ""
    return [
        ["bursts of the others, s (60 if not answered)", "p50", "p95", "p99", "count"],
        ["without noise", *_percentiles(noise.quiet)],
        ["with a noisy tenant", *_percentiles(noise.noisy)],
        ["p95 with noise / without", "", rise, "", ""],
        ["runs of the noisy person", "", "", "", str(noise.runs)],
    ]


def doubled(outcome: Outcome) -> int:
    """Return how many SMS reached their phone more than once."""
    meant = Counter(
        (d.to.person.address, part.body) for d in outcome.found.deliveries for part in d.parts
    )
    reached = Counter((text.recipient, text.body) for text in outcome.found.sms)
    return (reached - meant).total()


def _percentiles(values: Sequence[float]) -> list[str]:
    if len(values) < 2:  # noqa: PLR2004 - fewer have no quantiles
        return ["", "", "", str(len(values))]
    cuts = quantiles(values, n=100, method="inclusive")
    return [*(f"{cuts[position - 1]:.2f}" for position in (50, 95, 99)), str(len(values))]


def failures(outcome: Outcome) -> list[list[str]]:
    """Return the table of failures by kind. A killed container can't report its last invocation."""
    names = sorted({name.split(": ")[0] for name in outcome.drawn})
    kinds = sorted({name.split(": ")[1] for name in outcome.drawn})
    rows = [[name, *(str(outcome.drawn.get(f"{name}: {k}", "")) for k in kinds)] for name in names]
    return [["calls that failed", *kinds], *rows]


def checks(outcome: Outcome) -> list[list[str]]:
    """Return the checks with their results."""
    rows = [
        [v.check, "pass" if v.holds else "FAIL", "" if v.holds else str(len(v.wrong))]
        for v in outcome.verdicts
    ]
    return [["afterwards", "", "times"], *rows]


def show(outcome: Outcome, machine: str) -> None:
    """Print the report, with all problems."""
    print(about(outcome, machine))
    print(f"\n{printed(figures(outcome))}\n")
    if outcome.noise is not None:
        print(f"{printed(neighbors(outcome.noise))}\n")
    if outcome.drawn:
        print(f"{printed(failures(outcome))}\n")
    print(printed(checks(outcome)))
    for verdict in outcome.verdicts:
        for sentence in verdict.wrong[:MAX_TOLD]:
            print(f"FAIL: {verdict.check}: {sentence}")
        if len(verdict.wrong) > MAX_TOLD:
            print(f"FAIL: {verdict.check}: and {len(verdict.wrong) - MAX_TOLD} more")


def about(outcome: Outcome, machine: str) -> str:
    """Describe the run in a sentence."""
    plan = outcome.plan
    return (
        f"{machine}; {plan.phones} phones and {plan.users} users of the app for "
        f"{plan.seconds:.0f} s, {plan.pause_seconds:.0f} s between an answer and the next burst; "
        f"seed {plan.seed}. They wrote and waited for {outcome.writing_seconds:.0f} s. No work was "
        f"left after {outcome.drain_seconds:.0f} s more, in which the clock was turned by "
        f"{outcome.turned_seconds / 60:.0f} minutes. Load average of the machine, other work "
        f"included: {outcome.busy:.1f}."
    )


def page(outcome: Outcome, machine: str, *, gap: float) -> str:
    """Return the text of the page."""
    parts = [
        OPENING_WITH_FAULTS if outcome.plan.faults else OPENING.format(gap=gap),
        f"{about(outcome, machine)}\n",
        f"{markdown_table(figures(outcome))}\n",
        *([f"{markdown_table(neighbors(outcome.noise))}\n"] if outcome.noise is not None else []),
        *([f"{markdown_table(failures(outcome))}\n"] if outcome.drawn else []),
        f"{markdown_table(checks(outcome))}\n",
    ]
    return "\n".join(parts)
