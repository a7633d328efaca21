"""The HTML page of an eval: each situation with its prompts and answers."""

from collections.abc import Iterator, Sequence
from html import escape

from bench.eval.outcomes import Outcome

HEAD = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Eval of {model}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: .75rem }}
.answer {{ background: #e8f1fb }}
</style>
<h1>Eval of {model}</h1>
<p>{passed} of {count} passed.</p>
"""


def page(model: str, outcomes: Sequence[Outcome]) -> str:
    """Return the page, on which the details of failed situations are unfolded."""
    passed = sum(each.passed for each in outcomes)
    head = HEAD.format(model=escape(model), passed=passed, count=len(outcomes))
    return head + "\n".join(line for outcome in outcomes for line in _situation(outcome))


def _situation(outcome: Outcome) -> Iterator[str]:
    state, mark = ("", "pass") if outcome.passed else (" open", "FAIL")
    name = f"{outcome.ability}: {outcome.name}"
    yield f"<details{state}><summary>{mark} · {escape(name)}</summary>"
    if outcome.missing:
        yield f"<p>Not met: {escape(outcome.missing)}</p>"
    for number, exchange in enumerate(outcome.exchanges, 1):
        yield f"<details><summary>Prompt {number}</summary>"
        yield f"<pre>{escape(exchange.prompt)}</pre></details>"
        yield f'<pre class="answer">{escape(exchange.answer)}</pre>'
    yield "</details>"
