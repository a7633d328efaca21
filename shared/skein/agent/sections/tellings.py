"""Content that a prompt already shows, which memories must not repeat."""

from collections.abc import Iterator

from skein.interface.history import History
from skein.interface.reading import current_seq
from skein.interface.section import SectionInput
from skein.interface.told import Telling
from skein.models.visibility.provenance import Span
from skein.planning.models.plan import Plan
from skein.planning.sections import Plans
from skein.services.common.quoting import minute_of

PROMISING = "agent ask asks asked promise promised remind reminds reminded reminder set want wants"


def tellings_of(given: SectionInput) -> Iterator[Telling]:
    """Yield the content of the plans, the history window and CONVERSATION SUMMARY."""
    chat = given.reading.chat
    yield from map(_of_plan, given.reading.of(Plans).plans)
    if chat is None:
        return
    window, before = _window(given), given.reading.of(History).before
    if window:
        yield Telling((Span(chat_id=chat.id, first_seq=window[0], last_seq=window[-1]),))
    if before is not None and given.counter.count(before.text) < given.summary_limit:
        span = Span(chat_id=chat.id, first_seq=before.from_seq, last_seq=before.seq)
        yield Telling((span,), before.text)


def _window(given: SectionInput) -> list[int]:
    """Return the `seq` of each shown message; leave out a trigger that is older than all others."""
    first, *later = sorted(given.shown) or [0]
    old = later and first == current_seq(given.run, given.reading.chat)
    return later if old or not first else [first, *later]


def _of_plan(plan: Plan) -> Telling:
    """Return the content of a plan: its words, its time, and who asked for it."""
    source = plan.made_from.source
    names = (each.name for each in source.named) if source is not None else ()
    at = minute_of(plan.next_at) if plan.next_at is not None else ""
    words = " ".join([plan.name, plan.instruction, at, PROMISING, *names])
    return Telling(plan.made_from.spans, words, of_some=True)
