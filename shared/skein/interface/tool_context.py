"""The context of a tool call: its run, its reading, and its services.

The first parameter of each tool is a `ToolContext`, which has everything that a tool may use:

- `call.target(chat_id)` returns the id of the chat that the call names. `call.target(None)` returns
  the id of the active chat.
- `own_chat(call, call.target(None))` in `agent/tools/chats.py` reads the active chat with the
  agent's membership. `call.service(OwnChats).snapshot` reads a chat with the memberships of all
  members.
- `call.service(Memories)` returns a service by its class.
- `call.activation.claim` has the run, the agent, and the check that no other worker has the run.
- `call.activation.add_held` records content that the tool shows from elsewhere: its audience, and
  the people whose words are in it. `add_items` does the same for items.

Two attributes look like the active chat, but must not be used for it. `call.reading.chat` is the
chat that the prompt shows, and `enter_chat` does not change it. Use `call.reading` only to decide
who may see or own what was made from the prompt. `run.active_chat_id` is not the chat that the
agent means if `enter_chat` failed. `target` refuses the call in that case.

The functions below the classes return the owner of an item that a tool creates (`owner_at`), and
the reach, which says what items a tool may find or change (`reach_at`). The reach also names the
author of a change and the people whose words led to the change. Each service checks the author's
rights on the item (`Readers.changes` in `models/visibility/ownership.py`). In a private chat, an
agent's tools therefore cannot change open items. In no chat can the tools narrow the audience of an
item or change an operator's item.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from skein.errors import Correctable, Failed
from skein.interface.history import History, words_of
from skein.interface.names import Names, named_member
from skein.interface.reading import Reading
from skein.models.chats.chat import Message
from skein.models.common.storage import Put
from skein.models.runs.provenance import MarkedCitation
from skein.models.runs.run import Run, SentMessage
from skein.models.runs.step import Step
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Actor, DerivedItem, Owner, Reach, scopes_at
from skein.models.visibility.provenance import (
    MANY,
    NO_INSIDERS,
    NOTHING,
    Authors,
    Insiders,
    MadeFrom,
    SourceLabel,
    Span,
)
from skein.models.visibility.sharing_rules import SharingStamp
from skein.ports import Clock, Services
from skein.services.runs.claim import Claim
from skein.services.visibility.audience import label_in

Service = TypeVar("Service")
UNKNOWN = "Someone"  # the name of a person that the prompt does not show


@dataclass(slots=True)
class Activation:
    """The state of one activation in progress, which tools use.

    Attributes:
        claim: The worker's claim on the run, as last written. The cleanup after an error also uses
            this claim.
        insiders: The insiders of the run, as read for the prompt.
        sent: The messages that the current step has sent so far.
        earlier: The activation's steps before the current step.
        disclosed: Records of what tools have shown in the current step because of sharing rules.
        cited: The passages that the prompt and the tools have shown, by their marks.
        enter_chat_failed: Whether the agent failed to enter a chat in this step. The active chat is
            then not the chat that the agent means.
        results_wanted: Whether the model must see the results of the current step, because a call
            has read something or set `continue`, or a tool requires it.
        permit: Whether the activation has a permit, which the concurrency limit requires.
        ended: Whether the agent ended the run.
        over: Whether the run waits or has ended, so that this worker must not write anything more.
    """

    claim: Claim
    insiders: Insiders = NO_INSIDERS
    sent: list[SentMessage] = field(default_factory=list)
    earlier: tuple[Step, ...] = ()
    disclosed: list[Put] = field(default_factory=list)
    cited: list[MarkedCitation] = field(default_factory=list)
    enter_chat_failed: bool = False
    results_wanted: bool = False
    permit: bool = False
    ended: bool = False
    over: bool = False

    @property
    def run(self) -> Run:
        return self.claim.run

    def begin_again(self) -> None:
        """Reset the state, because the activation was dropped and starts again."""
        self.sent.clear()
        self.enter_chat_failed = self.ended = False

    def add_held(self, audience: Audience, authors: Authors) -> None:
        """Record the audience and the authors of content that a tool has shown.

        The audience and the authors limit where the run may post from now on.

        Args:
            audience: The people who were present for all of this content.
            authors: The people whose words are in the content, by digest.
        """
        if self.run.held is not None:
            held = self.run.held.with_shown(audience, authors, self.insiders)
            self.claim = self.claim.with_run(held=held)

    def add_rule_words(self, stamp: SharingStamp, records: Iterable[Put]) -> None:
        """Record that sharing rules allowed a tool to show content; this restricts later posts.

        Args:
            stamp: The versions of the sharing rules that allowed the content.
            records: The records of what was shown, which are stored with the tool's result.
        """
        if self.run.held is not None:
            self.claim = self.claim.with_run(
                held=self.run.held.with_rule_words, sharing=stamp.joined(self.run.sharing_stamp)
            )
        self.disclosed.extend(records)

    def add_items(self, items: Iterable[DerivedItem | None]) -> None:
        """Record that a tool has shown these items, each with its audience."""
        for item in items:
            if item is not None:
                self.add_held(item.shown_to, item.authors)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of one tool call.

    Attributes:
        effect: The id of this call, which is the same in each retry.
        activation: The activation.
        reading: The data from which the prompt was built.
        services: The services, by class; see `service`.
        names: Returns the names of people and agents in the prompt.
        clock: The clock.
        may_wait: Whether this call may make the run wait. Only the last question of a step may do
            so, because the calls before it must be carried out first.
    """

    effect: str
    activation: Activation
    reading: Reading
    services: Services
    names: Callable[[], Names]
    clock: Clock
    may_wait: bool = True

    def service(self, kind: type[Service]) -> Service:
        """Return a service by its class, such as `Memories`."""
        return self.services.get(kind)

    def target(self, chat_id: str | None) -> str:
        """Return the id of the chat that a call names, or else of the active chat.

        Raises:
            Correctable: No chat is active, or the agent could not enter the intended chat.
        """
        if chat_id is not None:
            return chat_id
        if self.activation.enter_chat_failed:
            raise Correctable("enter_chat failed, so nothing was done in the previous chat")
        active = self.activation.run.active_chat_id
        if active is None:
            raise Correctable("no chat is active: give a chat_id, or enter a chat first")
        return active


def place_of(call: ToolContext, chat_id: str, seq: int) -> str:
    """Return the place of a message for a tool's result: `msg:7` or `another chat`.

    The number of a message in another chat is left out, because it would reveal to the readers of
    this chat how many messages the other chat has.
    """
    return f"msg:{seq}" if call.reading.shows(chat_id) else "another chat"


def content_of(call: ToolContext) -> Audience:
    """Return the audience of everything that this activation was shown, including tool results.

    This audience decides both where the run may post and who may see the items that it makes. A
    memory, goal or document therefore cannot reach more people than a message made from the same
    content.
    """
    held = call.activation.run.held
    return held.audience if held is not None else call.reading.audience


def own_scope(call: ToolContext) -> str | None:
    """Return the scope for items that the tool creates now.

    Raises:
        Failed: The activation has private content, but no scope in which to store it.
    """
    scope = call.reading.scope
    if scope is None and not content_of(call).open:
        raise Failed("this run has private content and no chat, so it cannot store anything")
    return scope


def authors_of(call: ToolContext) -> Authors:
    """Return the people whose words this activation was shown, including tool results."""
    return call.activation.run.words


def admitted(call: ToolContext, messages: Iterable[Message]) -> list[Message]:
    """Return the messages that this activation may be shown."""
    insiders = call.reading.insiders
    return [message for message in messages if insiders.admit(words_of([message]))]


def material_of(call: ToolContext, *items: str) -> MadeFrom:
    """Return the messages from which new items are made.

    These are the messages that the run answers, and those from which its plan was made. If there
    are none, the messages of the active chat that the prompt shows are returned.

    Args:
        call: The tool call.
        items: The ids of the items that the call names.
    """
    run, reading, trigger = call.activation.run, call.reading, call.activation.run.trigger
    made = trigger.plan.made_from if trigger.plan is not None else NOTHING
    if run.chat_id is not None and trigger.seqs:
        made = made.joined(_messages(call, run.chat_id, trigger.seqs, trigger))
    if run.resumed is not None and run.resumed.seq is not None:
        answer = run.resumed.seq
        made = made.joined(_messages(call, run.resumed.chat_id, range(answer, answer + 1)))
    shown = reading.of(History).messages
    if made.nothing and reading.chat is not None and shown:
        made = _messages(call, reading.chat.id, range(shown[0].seq, shown[-1].seq + 1))
    return made.naming(items)


def _messages(
    call: ToolContext, chat_id: str, asked: range, trigger: Trigger | None = None
) -> MadeFrom:
    """Return the provenance of items that are made from a span of messages."""
    chat = call.reading.chat
    here = chat is not None and chat.id == chat_id
    messages = call.reading.of(History).messages
    shown = {message.seq: message.sender for message in messages if here}
    by, seq = (trigger.by, trigger.seq) if trigger is not None else (None, None)
    if by is not None and seq is not None and seq not in shown:
        shown[seq] = named_member(by, call.names().known.get(by, UNKNOWN))
    senders = [shown[seq] for seq in asked if seq in shown]
    span = Span(chat_id=chat_id, first_seq=asked[0], last_seq=asked[-1])
    if len(senders) < len(asked):
        return MadeFrom(spans=(span,), writers=MANY, source=SourceLabel.of(senders, others=1))
    known = label_in(chat, senders, content_of(call)) if chat is not None and here else None
    people = [sender for sender in senders if sender.kind == "user"]
    return MadeFrom(
        spans=(span,),
        writers=Authors.of(sender.id for sender in people),
        source=known or (SourceLabel.of(people) if people else None),
    )


def readers_of(call: ToolContext) -> Audience:
    """Return the readers of the active chat. Without a chat, return `content_of(call)`."""
    reading = call.reading
    return reading.destination if reading.chat is not None else content_of(call)


def owner_at(call: ToolContext, *items: str) -> Owner:
    """Return the owner for items that the tool creates now, with the provenance of their content.

    Args:
        call: The tool call.
        items: The ids of the items that the call names.

    Raises:
        Failed: There is no scope for the items; see `own_scope`.
    """
    run, reading = call.activation.run, call.reading
    return Owner(
        tenant=run.tenant,
        agent_id=run.agent_id,
        scope=own_scope(call),
        audience=content_of(call),
        authors=authors_of(call),
        made_from=material_of(call, *items),
        source_chat_id=reading.chat.id if reading.chat else None,
        source_run_id=run.id,
    )


def actor_of(call: ToolContext) -> Actor:
    """Return the run as the author of changes, with the people whose words it was shown."""
    run = call.activation.run
    outsiders = run.held is None or run.held.outsiders
    return Actor(chat_id=run.own_chat_id, authors=authors_of(call), outsiders=outsiders)


def reach_at(call: ToolContext) -> Reach:
    """Return what the activation may access: open items, and the items of its own scope."""
    reading = call.reading
    return Reach(
        tenant=call.activation.run.tenant,
        agent_id=call.activation.run.agent_id,
        scopes=scopes_at(reading.scope),
        readers=readers_of(call),
        content=content_of(call),
        insiders=reading.insiders,
        chat_id=reading.chat.id if reading.chat is not None else None,
        actor=actor_of(call),
    )
