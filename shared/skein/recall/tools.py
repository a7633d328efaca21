"""The tool `recall`: old messages that match a query."""

from typing import Annotated

from pydantic import Field

from skein.errors import Correctable
from skein.interface.arguments import NOT_SHOWN, Id, Moment, Query
from skein.interface.history import asked_refs
from skein.interface.tool import tool
from skein.interface.tool_context import ToolContext, readers_of
from skein.models.visibility.ownership import scopes_at
from skein.recall.candidates import RecallRequest
from skein.recall.disclosures import disclosure_records, stamp_of
from skein.recall.layout import recalled_lines
from skein.recall.search import Recall
from skein.recall.time_phrases import seconds_of
from skein.services.visibility.audience import scope_of

MAX_TOKENS = 2_000


@tool(effect="read")
def recall(
    call: ToolContext,
    query: Query,
    from_: Annotated[Moment | None, Field(alias="from", description="A day: YYYY-MM-DD.")] = None,
    to: Moment | None = None,
    person: Id | None = None,
    chat_id: Annotated[Id | None, Field(json_schema_extra={NOT_SHOWN: True})] = None,
) -> str:
    """Search old messages that may be shown here."""
    run, reading = call.activation.run, call.reading
    zone = reading.entries_zone
    try:
        first_at = seconds_of(from_, zone, last=False) if from_ else None
        last_at = seconds_of(to, zone, last=True) if to else None
    except ValueError:
        raise Correctable("from and to are dates such as 2026-02-18") from None
    reader_rules = reading.sharing.for_readers if reading.sharing is not None else None
    found = call.service(Recall).find(
        RecallRequest(
            tenant=run.tenant,
            agent_id=run.agent_id,
            chat=reading.chat,
            member=reading.member,
            scopes=scopes_at(scope_of(reading.chat)),
            readers=readers_of(call),
            query=query,
            tokens=MAX_TOKENS,
            now=call.clock.now(),
            zone=zone,
            first_at=first_at,
            last_at=last_at,
            person=person,
            only_chat_id=chat_id,
            insiders=reading.insiders,
            shown=asked_refs(run),
            thorough=True,
            reader_rules=reader_rules,
            told=frozenset(run.sharing_stamp.versions if run.sharing_stamp is not None else ()),
        )
    )
    for entry in found.entries:
        call.activation.add_held(entry.audience, entry.words)
    stamp = stamp_of(found.entries, reader_rules)
    if stamp is not None and reading.chat is not None:
        records = disclosure_records(
            run, reading.chat.id, found.entries, call.clock.now(), cause=call.effect
        )
        call.activation.add_rule_words(stamp, records)
    names = call.names().joined(entry.message.sender for entry in found.entries)
    here = reading.chat.id if reading.chat is not None else None
    lines = recalled_lines(found.entries, here, zone, names.__getitem__)
    return "\n".join(lines) or "no messages found"
