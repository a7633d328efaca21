"""Find out whether all messages from which an item was made are deleted."""

from dataclasses import dataclass

from skein.models.chats.chat import Message, chat_partition
from skein.models.common.storage import Query
from skein.models.runs.run import Run
from skein.models.visibility.provenance import NOTHING, MadeFrom, Span
from skein.ports import Table
from skein.privacy.models.erasure import DeletedMessage
from skein.services.common.pagination import pages

ROWS = 100
GONE = frozenset({"deleted", "erased"})


@dataclass(frozen=True, slots=True)
class DeletedMaterial:
    """Checks whether all people's messages from which an item was made are deleted."""

    table: Table
    tenant: str

    def gone(self, made: MadeFrom) -> bool:
        """Return whether all people's messages among an item's sources are deleted.

        Messages of agents are ignored. Returns False if the item names no messages as its sources.
        """
        return bool(made.spans) and all(map(self._is_gone, made.spans))

    def _is_gone(self, span: Span) -> bool:
        first, last = (
            Message.key_of(self.tenant, span.chat_id, seq).sk
            for seq in (span.first_seq, span.last_seq)
        )
        pk = chat_partition(self.tenant, span.chat_id)
        found = pages(
            lambda start: self.table.query(
                Query(pk, first=first, last=last, limit=ROWS, start=start)
            )
        )
        return not any(
            message.sender.kind == "user" and message.kind not in GONE
            for items in found
            for message in Message.each_of(items)
        )


def holds(made: MadeFrom, message: DeletedMessage) -> bool:
    """Return whether a deleted message is among the messages that an item was made from."""
    return any(
        span.chat_id == message.chat_id and span.first_seq <= message.seq <= span.last_seq
        for span in made.spans
    )


def material_of_run(run: Run) -> MadeFrom:
    """Return the messages that a run answers, together with the sources of its plan."""
    trigger, spans = run.trigger, list[Span]()
    asked = trigger.seqs
    if run.chat_id is not None and asked:
        spans.append(Span(chat_id=run.chat_id, first_seq=asked[0], last_seq=asked[-1]))
    resumed = run.resumed
    if resumed is not None and resumed.seq is not None:
        spans.append(Span(chat_id=resumed.chat_id, first_seq=resumed.seq, last_seq=resumed.seq))
    made = trigger.plan.made_from if trigger.plan is not None else NOTHING
    return made.joined(MadeFrom(spans=tuple(spans)))
