"""Checks of the table and the queues after a load run, when all work is done.

Each check yields a sentence for each problem that it finds.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.load.found import StoredState
from bench.load.services import WRITE
from skein.models.chats.chat import Message
from skein.models.chats.media import MediaFile
from skein.models.runs.run import Run

ANSWERED = frozenset({"sent", "delivered"})
# Kinds that may be due later: idle chats are consolidated, and old files are deleted.
MAY_BE_DUE = frozenset({"consolidation", "direct_consolidation", "media"})


@dataclass(frozen=True)
class Verdict:
    """The problems that one check has found."""

    check: str
    wrong: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the check found no problem."""
        return not self.wrong


def acknowledged_once(found: StoredState) -> Iterator[str]:
    """Check that each acknowledged message is stored once, with the right number and words."""
    by_id: dict[str, list[Message]] = defaultdict(list)
    for message in found.everything_said:
        if message.sender.kind == "user":
            by_id[message.client_id.split(":")[-1]].append(message)
    for said in found.acknowledged:
        there = by_id.get(said.id, [])
        if len(there) != 1:
            yield f"{said.id} was acknowledged and is stored {len(there)} times"
            continue
        message = there[0]
        if message.text != said.text:
            yield f"{said.id} has another text"
        if len(message.media) != said.files:
            yield f"{said.id} was sent with {said.files} files and has {len(message.media)}"
        if said.seq not in {None, message.seq} or said.message_id not in {None, message.id}:
            yield f"{said.id} was acknowledged as {said.seq} and is {message.seq}"


def nothing_doubled(found: StoredState) -> Iterator[str]:
    """Check that no two messages have the same client id, and each has one idempotency record."""
    said = Counter((m.chat_id, m.sender.ref, m.client_id) for m in found.everything_said)
    yield from (f"{key[2]} is {n} messages" for key, n in said.items() if n > 1)
    records = {(m.chat_id, m.sender, m.client_id): m.seq for m in found.records}
    for message in found.everything_said:
        marked = records.get((message.chat_id, message.sender.ref, message.client_id))
        if marked != message.seq:
            yield f"{message.client_id} is message {message.seq}, its record says {marked}"
    if len(records) != len(said):
        yield f"{len(records)} idempotency records exist for {len(said)} messages"


def dense(found: StoredState) -> Iterator[str]:
    """Check that `seq` is 1, 2, 3 ... in each chat, up to the chat's `last_seq`."""
    for chat in found.chats.values():
        numbers = sorted(message.seq for message in found.messages.get(chat.id, ()))
        if numbers != list(range(1, chat.last_seq + 1)):
            yield f"{chat.id} says {chat.last_seq} and has {len(numbers)}: {numbers[-3:]}"


def every_run_ended(found: StoredState) -> Iterator[str]:
    """Check that no run is queued or running, and that each has all its steps."""
    steps: dict[str, list[int]] = defaultdict(list)
    for step in found.steps:
        steps[step.run_id].append(step.n)
    for run in found.runs:
        if not run.ended and run.status != "waiting":
            yield f"{run.id} is {run.status}"
        if sorted(steps[run.id]) != list(range(1, run.steps_taken + 1)):
            yield f"{run.id} counts {run.steps_taken} steps and has {sorted(steps[run.id])}"


def no_run_failed(found: StoredState) -> Iterator[str]:
    """Check that no run has failed or was canceled without a reason."""
    for run in found.runs:
        joined = run.status == "canceled" and (run.error or "").startswith("joined ")
        if run.status in {"failed", "canceled"} and not joined:
            yield f"{run.id} is {run.status}: {run.error}"


def one_answer_a_run(found: StoredState) -> Iterator[str]:
    """Check that each completed run posted one message, and each other run at most one."""
    said = Counter(m.run_id for m in found.everything_said if m.run_id and m.kind == "text")
    for run in found.runs:
        most, least = (1, 1) if run.status == "done" else (0, 0)
        if run.status == "failed":
            most = 1
        if not least <= said[run.id] <= most:
            yield f"{run.id} is {run.status} and has said {said[run.id]} things"
    known = {run.id for run in found.runs}
    yield from (
        f"{run_id} has posted a message but is not stored" for run_id in said.keys() - known
    )


def covered_once(found: StoredState) -> Iterator[str]:
    """Check that exactly one run answered each message of a person, and its prompt showed it."""
    answered: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in found.runs:
        if run.status == "done" and run.chat_id is not None:
            answered[run.chat_id, run.agent_id].append(run)
    for chat in found.chats.values():
        agents = [member.id for member in chat.roster if member.kind == "agent"]
        for message in found.messages.get(chat.id, ()):
            if message.sender.kind != "user" or message.kind != "text":
                continue
            for agent in agents:
                runs = [run for run in answered[chat.id, agent] if _covers(run, message.seq)]
                if len(runs) != 1:
                    yield f"{chat.id} {message.seq} was answered by {len(runs)} runs"
                elif runs[0].shown is None or runs[0].shown.seq < message.seq:
                    yield f"{runs[0].id} answered {message.seq} without having seen it"


def _covers(run: Run, seq: int) -> bool:
    trigger = run.trigger
    first = trigger.from_seq if trigger.from_seq is not None else trigger.seq
    return first is not None and trigger.seq is not None and first <= seq <= trigger.seq


def sms_once(found: StoredState) -> Iterator[str]:
    """Check that each answer to a phone has reached the phone once."""
    reached = Counter((text.recipient, text.body) for text in found.sms)
    meant: Counter[tuple[str, str]] = Counter()
    delivered = Counter((delivery.chat_id, delivery.seq) for delivery in found.deliveries)
    for delivery in found.deliveries:
        if delivery.status not in ANSWERED:
            yield f"{delivery.id} is {delivery.status}: {delivery.error}"
        meant.update((delivery.to.person.address, part.body) for part in delivery.parts)
    for key in sorted(reached.keys() | meant.keys()):
        if reached[key] != meant[key]:
            yield f"{key[1]!r} was meant {meant[key]} times for {key[0]} and came {reached[key]}"
    on_lines = {chat.id for chat in found.chats.values() if chat.line is not None}
    for message in found.everything_said:
        if message.chat_id in on_lines and message.sender.kind == "agent":
            count = delivered[message.chat_id, message.seq]
            if count != 1:
                yield f"{message.chat_id} {message.seq} has {count} deliveries"


def files_once(found: StoredState) -> Iterator[str]:
    """Check that each picture of a message is stored once, is ready, and has a description.

    The bucket and the table must have no other files.
    """
    items = {file.id: file for file in found.files}
    named = Counter(media_id for message in found.everything_said for media_id in message.media_ids)
    for message in found.everything_said:
        for media in message.media:
            file = items.get(media.id or "")
            if file is None or file.state != "ready" or file.seq != message.seq:
                what = "gone" if file is None else f"{file.state} in message {file.seq}"
                yield f"the picture of {message.client_id} is {what}"
            elif file.description is None or media.description != file.description:
                yield f"the picture of {message.client_id} has no description"
    yield from (f"{media_id} is in {n} messages" for media_id, n in named.items() if n > 1)
    yield from (f"{media_id} is in no message" for media_id in items.keys() - named.keys())
    meant = Counter(name for file in found.files for name in _names(file))
    stored = Counter(found.stored)
    yield from (f"{name} is missing in the bucket" for name in sorted(meant - stored))
    yield from (f"{name} is left over in the bucket" for name in sorted(stored - meant))


def _names(file: MediaFile) -> list[str]:
    return [file.file_name, *([file.small_name] if file.small_size else [])]


def bookings_once(found: StoredState) -> Iterator[str]:
    """Check that the service booked each completed call exactly once.

    No run may have booked the same message twice.
    """
    for (run_id, marker), count in found.bookings.items():
        if count > 1:
            yield f"{run_id} has booked {count} times for {marker}"
    recorded = set()
    for step in found.steps:
        for position, result in enumerate(step.results or ()):
            key = f"{step.run_id}:{step.n}:{position}"
            recorded.add(key)
            if result.name == WRITE and result.status == "done" and key not in found.booked_keys:
                yield f"{key} is done, and the service has not booked it"
    yield from (f"{key} was booked and is not recorded" for key in {*found.booked_keys} - recorded)


def slots_empty(found: StoredState) -> Iterator[str]:
    """Check that no agent's membership names a run or a wait."""
    for member in found.members:
        held = (member.running_run, member.queued_run, member.wait, *member.resuming)
        if any(held):
            yield f"{member.member.id} in {member.chat_id} holds {[one for one in held if one]}"


def nothing_due(found: StoredState) -> Iterator[str]:
    """Check that the due index lists no run, delivery or chat."""
    yield from (f"{kind} {key} is still due" for kind, key in found.due if kind not in MAY_BE_DUE)


def queues_empty(found: StoredState) -> Iterator[str]:
    """Check that all queues and dead-letter queues are empty."""
    if found.held:
        yield f"{found.held} messages are still held"
    for queue, count in found.dead_letters.items():
        if count:
            yield f"{count} in {queue}"


CHECKS: dict[str, Callable[[StoredState], Iterator[str]]] = {
    "every acknowledged message is stored exactly once": acknowledged_once,
    "no message is stored twice": nothing_doubled,
    "`seq` is dense in every chat": dense,
    "every run has ended": every_run_ended,
    "no run has failed": no_run_failed,
    "every completed run has posted one answer": one_answer_a_run,
    "every message was answered by exactly one run": covered_once,
    "every SMS has reached its phone once": sms_once,
    "every picture is stored once": files_once,
    "every booking of a tool was made once": bookings_once,
    "all slots are empty": slots_empty,
    "no completed work is still due": nothing_due,
    "queues and dead letters are empty": queues_empty,
}


def verdicts(found: StoredState) -> list[Verdict]:
    """Run all checks."""
    return [Verdict(name, tuple(check(found))) for name, check in CHECKS.items()]
