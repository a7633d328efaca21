"""The writes by which threads come and go: each holds only for the bench that was read."""

import json

from skein.errors import TooLarge
from skein.models.audience import Audience
from skein.models.ownership import Reach
from skein.models.storage import Item, Missing, Put, Write, at_version
from skein.models.thread import Stint, Thread, Workbench
from skein.ports import Clock
from skein.services.common.pagination import FULL
from skein.services.workspace.thread_reading import Found

MAX_BENCH_BYTES = 350_000  # an item holds 400 KB


def at(reach: Reach, scope: str | None) -> Reach:
    """One of the partitions within reach."""
    return reach.model_copy(update={"scopes": (scope,)})


def stint(
    thread: Thread, run_id: str, activation: int | None, audience: Audience, clock: Clock
) -> Write:
    """The write that an activation worked at a thread (idempotent but for its time).

    Args:
        thread: Which.
        run_id: Of the activation.
        activation: Its number in the run.
        audience: Who was there for everything that it was shown.
        clock: The time.
    """
    mark = Stint(
        thread_id=thread.id,
        run_id=run_id,
        activation=activation,
        audience=audience,
        shown_at=clock.now(),
    )
    place = (thread.tenant, thread.agent_id, thread.scope)
    return Put(Stint.key_of(*place, thread.id, run_id, activation), mark.attributes())


def moved(there: Reach, found: Found, after: Thread) -> list[Write]:
    """The writes that put a changed thread where it then belongs."""
    bench = found.bench(after.scope)
    if after.status == "open":
        return [put(there, bench, bench.with_thread(after))]
    return [
        Put(after.ended_key, after.attributes(), Missing()),
        put(there, bench, bench.without(after.id)),
    ]


def _size(there: Reach, bench: Workbench) -> int:
    """How much the threads of a bench hold that may be shown there, in bytes."""
    return sum(_bytes(thread.attributes()) for thread in bench.threads if there.shows(thread))


def _bytes(item: Item) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode(errors="surrogatepass"))


def put(there: Reach, before: Workbench, after: Workbench) -> Write:
    """The write that puts a bench in the place of the one that was read.

    Raises:
        TooLarge: The threads on it hold too much text: those that may be shown there, half of what
            an item holds, or all of them.
    """
    item = after.model_copy(update={"version": before.version + 1}).attributes()
    most_shown = MAX_BENCH_BYTES if there.place is None else MAX_BENCH_BYTES // 2
    size = _size(there, after)
    if size > max(most_shown, _size(there, before)):
        raise TooLarge("the open threads hold too much text; shorten one or end one first")
    if _bytes(item) > MAX_BENCH_BYTES:
        raise TooLarge(FULL)
    key = Workbench.key_of(there.tenant, there.agent_id, there.scopes[0])
    return Put(key, item, at_version(before.version))
