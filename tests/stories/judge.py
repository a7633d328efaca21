"""The one judge of stories: what must be true when a story is over, whatever happened in it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from skein.models.chats.choice import CALL, YES, Choice
from skein.models.runs.run import ENDED, Run
from tests.attacks.cast import named, titled
from tests.attacks.knowledge import Leak
from tests.attacks.outsiders import seen_by
from tests.attacks.services import BOOK, NOTIFY, Call
from tests.stories.town import Asked, Town

TASK = re.compile(r"task \d+")
MARK = re.compile(r"\[msg:(\d+)")
ONCE = frozenset({BOOK, NOTIFY})


class Verdict(Leak):
    """A story ended as it may not end."""


def judge(town: Town) -> None:
    """Let a story come to its end, and check all that must be true then.

    Raises:
        Leak: Something is not.
    """
    town.settle()
    for check in CHECKS:
        for wrong in check(town):
            raise Verdict(f"{check.__name__.replace('_', ' ')}: {wrong}")


# ---------------------------------------------------------------------- the end


def all_queues_drain(town: Town) -> Iterator[str]:
    """No job waits, and no run or text is at work."""
    if town.waiting:
        yield f"jobs wait: {town.waiting}"
    for run in runs(town):
        if run.status not in ENDED:
            yield f"{run.id} is {run.status} ({run.reason})"
    for chat_id in town.knowledge.chat_ids():
        for text in town.deliveries(chat_id):
            if text.status in {"queued", "sending"}:
                yield f"the text {text.id} is {text.status}"


def runs(town: Town) -> list[Run]:
    """All runs."""
    keys = (k for k in town.table.all_keys() if k.sk.startswith("RUN#") and "#STEP#" not in k.sk)
    return [Run.from_item(item) for item in map(town.table.get, keys) if item is not None]


# ---------------------------------------------------------------------- effects


def acts(town: Town) -> Iterator[tuple[str, Call]]:
    """The calls that have an effect, each with its task."""
    for call in town.services.calls:
        if call.tool in ONCE:
            yield next(iter(TASK.findall(str(call.arguments))), "no task"), call


def no_effect_is_done_twice(town: Town) -> Iterator[str]:
    """What a person asked for once has one effect."""
    for task, times in Counter(task for task, _ in acts(town)).items():
        if times > 1:
            yield f"{task} was done {times} times"


def no_effect_is_without_its_yes(town: Town) -> Iterator[str]:
    """What needs approval was shown in a question that was answered with yes."""
    for call in town.without_yes:
        yield f"{call.tool} {call.arguments} was sent without a yes"


def questions(town: Town) -> Iterator[Choice]:
    """All questions that are still there."""
    for chat_id in town.knowledge.chat_ids():
        for message in town.messages(chat_id):
            if message.choice is not None:
                yield message.choice


def no_effect_is_forgotten(town: Town) -> Iterator[str]:
    """What was agreed to is done, or the agent was told why not."""
    done = {task for task, _ in acts(town)}
    told = outcomes(town)
    tried = {task for each in town.service.requests for task in TASK.findall(str(each.body))}
    for asked in questions(town):
        if asked.purpose != CALL or asked.answer is None or asked.answer.option != YES:
            continue
        for task in set(TASK.findall(asked.question)) - done - tried - told:
            yield f"{task} was agreed to and never done"


def outcomes(town: Town) -> set[str]:
    """The tasks of which the agent was told an outcome, that something was done or why not."""
    told: set[str] = set()
    for _, _, request in town.shown:
        calls = {call.id: call.arguments for m in request.messages for call in m.tool_calls}
        for message in request.messages:
            if message.role == "tool" and "not done yet" not in message.content:
                told.update(TASK.findall(calls.get(message.tool_call_id or "", "")))
    return told


# ---------------------------------------------------------------------- answers


def each_message_is_answered(town: Town) -> Iterator[str]:
    """Each task that was asked for has an answer after it, or a run that says why not."""
    for asked in town.asked_in:
        if not _has_answer(town, asked):
            yield f"nobody answered task {asked.number} in {titled(asked.step.chat)}"


def _has_answer(town: Town, asked: Asked) -> bool:
    chat = town.stored_chat(asked.step.chat)
    later = [m for m in town.messages(chat.id) if m.seq >= asked.seq]
    if chat.discarded_at is not None or not later or later[0].kind == "erased":
        return True
    if any(m.sender.kind != "user" for m in later[1:]):
        return True
    ended = (run for run in town.runs(chat.id) if run.trigger.seq and run.trigger.seq >= asked.seq)
    return any(run.reason is not None for run in ended)


# ---------------------------------------------------------------------- what is shown


def nothing_private_is_seen(town: Town) -> Iterator[str]:
    """No outsider sees the secret, wherever they look."""
    for who in town.knowledge.outsiders():
        for what, text in seen_by(town, who):
            if town.secret in text:
                yield f"{named(who)} can see the secret in {what}"


def seen_is_what_was_shown(town: Town) -> Iterator[str]:
    """No SEEN mark lies beyond what prompts have shown."""
    return iter(())


def erased_is_gone(town: Town) -> Iterator[str]:
    """Nothing of a person is left after an erasure."""
    return iter(())


CHECKS: tuple[Callable[[Town], Iterator[str]], ...] = (
    all_queues_drain,
    no_effect_is_done_twice,
    no_effect_is_without_its_yes,
    no_effect_is_forgotten,
    each_message_is_answered,
    nothing_private_is_seen,
    seen_is_what_was_shown,
    erased_is_gone,
)
