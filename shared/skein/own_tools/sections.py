"""DONE BEFORE: what tools already did for messages that the agent has not answered with a text.

The section is shown after a run was stopped, for example because a person of the team took the chat
over. It is also shown after the prompt of a run was built again for new readers, and after a run
that called tools and posted nothing. It lists the calls for the messages that the activation
answers, and for all messages after the agent's last text, no matter which run made them. A run of
a plan or a service gets it, too, if its prompt shows such messages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import Section, SectionInput, listing
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.common.base import MemberRef
from skein.models.common.storage import Item, Key, Query
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.models.visibility.audience import Audience, may_show
from skein.models.visibility.provenance import Authors, Insiders
from skein.own_tools.items import OwnToolItems
from skein.own_tools.models.recorded_call import CallState, RecordedCall
from skein.services.common.quoting import minute_of, quoted

MAX_SHOWN = 20  # recorded calls that the prompt shows, newest first
MAX_CHARACTERS = 500  # of the arguments, and of the result
STATES: dict[CallState, str] = {
    "asked": "the service asks a person first",
    "begun": "outcome unknown",
    "done": "done",
    "unknown": "outcome unknown",
}


@dataclass(frozen=True, slots=True)
class RecordedCalls(SectionItems):
    """The recorded calls that concern an activation.

    Reading them costs one query, or two for a run of a plan or a service that has called tools. It
    costs nothing if the agent has no tool that writes.

    Attributes:
        answered: The first and the last message that the activation answers, or None.
        calls: The agent's calls for these messages, for those after its last text, and for newer
            ones, by message and run.
        before: The calls in `calls` that were made before this activation for the same messages.
        shown: The newest calls whose arguments and results the prompt may show: those in `before`,
            and those for other messages after the agent's last text.
        steps: The steps that contain these arguments and results, by key.
    """

    answered: tuple[int, int] | None = None
    calls: tuple[RecordedCall, ...] = ()
    before: tuple[RecordedCall, ...] = ()
    shown: tuple[RecordedCall, ...] = ()
    steps: Mapping[Key, Step] = field(default_factory=dict)
    in_reads = ("tenant_tools",)
    optional = True

    @classmethod
    def queries(cls, read: SectionReads) -> Iterable[Query]:
        """Return the queries for the calls, if the agent has a tool that writes."""
        if not OwnToolItems.found(read).write:
            return
        run, unspoken = read.run, _unspoken(read)
        if unspoken and run.own_chat_id is not None:
            first = RecordedCall.prefix_of(unspoken[0])
            chat = chat_partition(run.tenant, run.own_chat_id)
            yield Query(chat, first=first, last=RecordedCall.PREFIX.last)
        if run.steps_taken and not _answered(read):
            yield Query.under(run.key.pk, RecordedCall.prefix_of(0, run.id))

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the steps that hold the arguments and results of the calls."""
        return dict.fromkeys(call.step_key for call in _listed(read, _calls(read)))

    @classmethod
    def found(cls, read: SectionReads) -> "RecordedCalls":
        """Keep the agent's calls, and the steps of the calls that may be shown."""
        if not OwnToolItems.found(read).write:
            return cls()
        calls = _calls(read)
        answered = _answered(read)
        before = _before(read, calls, answered)
        shown = [
            call
            for call in _listed(read, calls)
            if call.state != "failed" and may_be_shown(call, read.chat, read.readers, read.insiders)
        ]
        keys = {call.step_key for call in shown} & read.found.keys()
        steps = {key: Step.must_read(read.found, key) for key in keys}
        ends = (answered[0], answered[-1]) if answered else None
        return cls(ends, tuple(calls), tuple(before), tuple(shown), steps)

    def authors(self) -> Iterable[Authors]:
        return (call.authors for call in self.shown)


def done_before(given: SectionInput) -> Section | None:
    """Render the recorded calls that may be shown, the newest first, if there are any."""
    known = given.reading.of(RecordedCalls)
    lines = []
    for call in reversed(known.shown):
        step = known.steps.get(call.step_key)
        arguments, result = call.arguments_in(step), call.result_in(step)
        line = f"  - {call.tool}"
        line += f" {quoted(_cut(arguments))}" if arguments is not None else ""
        line += f" at {minute_of(call.begun_at)}: {STATES[call.state]}"
        line += f", with the result {quoted(_cut(result.content))}" if result is not None else ""
        lines.append(line)
    return listing("DONE BEFORE", lines, given.list_limit, given.counter) if lines else None


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} [cut]"


def may_be_shown(
    record: RecordedCall, chat: Chat | None, readers: Audience, insiders: Insiders
) -> bool:
    """Return whether the arguments and the result of a call may be shown in a chat."""
    audience = record.audience
    for former, now in chat.formerly.items() if chat is not None else ():
        audience = audience.renamed(former, now)
    return may_show(audience, readers) and insiders.admit(record.authors)


def _calls(read: SectionReads) -> list[RecordedCall]:
    """Return the agent's recorded calls, by the message and the run that they belong to."""
    items: dict[Key, Item] = {
        key: item for key, item in read.found.items() if key.sk.startswith(RecordedCall.PREFIX)
    }
    calls = (RecordedCall.must_read(items, key) for key in sorted(items))
    return [call for call in calls if call.agent_id == read.run.agent_id]


def _listed(read: SectionReads, calls: Sequence[RecordedCall]) -> list[RecordedCall]:
    """Return the calls to show: the newest for the messages after the agent's last text."""
    return _before(read, calls, _unspoken(read))[-MAX_SHOWN:]


def _before(
    read: SectionReads, calls: Sequence[RecordedCall], messages: range
) -> list[RecordedCall]:
    """Return the calls that were made before this activation for some messages of the chat."""
    run, answered = read.run, _answered(read)

    def concerns(call: RecordedCall) -> bool:
        if call.made_in.run_id == run.id and call.activation == run.activation:
            return False
        if call.made_in.run_id == run.id and (run.rebuilds or not answered):
            return True
        return bool(messages) and call.from_seq <= messages[-1] and messages[0] <= call.seq

    return [call for call in calls if concerns(call)]


def _unspoken(read: SectionReads) -> range:
    """Return the numbers of the messages that the agent has not answered with a text.

    They begin with the first message after the agent's last text, or earlier if the activation
    answers earlier messages. A run of a plan or a service answers none, but its prompt shows those
    of its chat.
    """
    answered, first = _answered(read), _unanswered_from(read)
    if answered:
        return range(min(answered[0], first), answered[-1] + 1)
    shown = _shown(read)
    return range(first, shown[-1].seq + 1) if shown else range(0)


def _answered(read: SectionReads) -> range:
    """Return the numbers of the messages that an activation answers in its run's own chat.

    A manually triggered run answers everything after the agent's last message.
    """
    run, resumed = read.run, read.run.resumed
    if run.chat_id is None:
        return range(0)
    if resumed is not None and resumed.seq is not None and resumed.chat_id == run.chat_id:
        return range(resumed.seq, resumed.seq + 1)
    if run.trigger.seqs:
        return run.trigger.seqs
    first, agent = _unanswered_from(read), _agent_of(run)
    asked = [each.seq for each in _shown(read) if each.sender.ref != agent and each.seq >= first]
    return range(first, max(asked) + 1) if asked else range(0)


def _unanswered_from(read: SectionReads) -> int:
    """Return the message number after the last text that the agent posted in another run.

    Reports of errands don't count: no run wrote them that knew of the calls.
    """
    run, agent = read.run, _agent_of(read.run)
    own = [
        each.seq
        for each in _shown(read)
        if each.kind == "text"
        and each.sender.ref == agent
        and each.run_id != run.id
        and each.report_of is None
    ]
    return max(own, default=0) + 1


def _shown(read: SectionReads) -> Sequence[Message]:
    """Return the messages of the run's own chat that its prompt shows."""
    run, chat, shown = read.run, read.chat, read.run.shown
    if chat is None or chat.id != run.own_chat_id:
        return ()
    if shown is None or shown.chat_id != chat.id:
        return read.messages
    return [each for each in read.messages if each.seq <= shown.seq]


def _agent_of(run: Run) -> MemberRef:
    return MemberRef(kind="agent", id=run.agent_id)
