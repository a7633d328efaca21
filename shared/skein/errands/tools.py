"""The tools `ask_someone`, for a person who is elsewhere, and `find_time`, for a group."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from skein.errands.models.errand import MAX_ASKED
from skein.errands.orders import ErrandOrders, MeetingWish
from skein.errors import Correctable, ExtraWriteFailed, LostLease
from skein.interface.arguments import LINE, TEXT, Id, Moment
from skein.interface.tool import refusals_as_tool_errors, tool
from skein.interface.tool_context import ToolContext, place_of, readers_of
from skein.models.chats.choice import MAX_PROPOSED
from skein.models.common.json_types import NUMBER
from skein.models.runs.run import SentMessage
from skein.services.common.schedule import deadline_of, moment_of
from skein.services.runs.policy import MAX_WAIT

ASKED = (
    "the question goes to {names}. The answer comes to this chat by itself, or that there is none "
    "at the deadline; you learn nothing before"
)
TO_AGREE = (
    "not asked yet: the person here is asked in {place} whether {names} may be asked exactly "
    "this. Do not say that they were asked"
)

TIMES_ASKED = (
    "each person here is asked alone for times. This chat is told a time that suits all, or that "
    "there is none, by itself; you learn nothing before, and must not ask for times here"
)

QuestionText = Annotated[str, Field(min_length=1, max_length=MAX_PROPOSED), TEXT]


@tool(effect="send")
def ask_someone(
    call: ToolContext,
    person: Annotated[Id, Field(description="Name or id of somebody who is not here.")],
    question: QuestionText,
    until: Annotated[Moment, Field(description="Such as 2 days, or 2026-02-18T17:07.")],
    also_ask: Annotated[
        list[Id] | None, Field(max_length=MAX_ASKED - 1, description="More people, each alone.")
    ] = None,
) -> str:
    """Ask a person in private, for somebody here. Their answer comes here."""
    now = call.clock.now()
    with orders_as_tool_errors(call):
        deadline = deadline_of(until, ZoneInfo(call.reading.zone), now, MAX_WAIT)
        orders, run = call.service(ErrandOrders), call.activation.run
        names = list(dict.fromkeys([person, *(also_ask or ())]))
        asked = orders.find(run, readers_of(call), names)
        ordered = orders.order(call.activation.claim, asked, question, deadline, cause=call.effect)
    return result_of(call, ordered, ", ".join(one.name for one in asked))


@tool(effect="send", groups_only=True)
def find_time(
    call: ToolContext,
    topic: Annotated[str, Field(min_length=1, max_length=100), LINE],
    earliest: Annotated[Moment, Field(description="Such as 2026-02-18T17:00.")],
    latest: Moment,
    until: Annotated[Moment, Field(description="When answers must be there, such as 1 day.")],
    minutes: Annotated[int, Field(ge=15, le=1_440), NUMBER] = 60,
) -> str:
    """Ask each person of this group, alone, for times, and propose the first that suits all."""
    now, zone = call.clock.now(), ZoneInfo(call.reading.zone)
    with orders_as_tool_errors(call):
        wish = MeetingWish(
            topic=topic,
            earliest=moment_of(earliest, zone, now),
            latest=moment_of(latest, zone, now),
            minutes=minutes,
            zone=call.reading.zone,
            until=deadline_of(until, zone, now, MAX_WAIT),
        )
        if wish.latest - wish.earliest < timedelta(minutes=minutes):
            raise Correctable("latest: the meeting must fit between earliest and latest")
        call.service(ErrandOrders).find_time(call.activation.claim, wish, cause=call.effect)
    return TIMES_ASKED


@contextmanager
def orders_as_tool_errors(call: ToolContext) -> Iterator[None]:
    """Convert the errors of an order to tool errors.

    Raises:
        ToolError: The order is refused.
        LostLease: Another worker has taken the run over.
    """
    try:
        with refusals_as_tool_errors():
            yield
    except ExtraWriteFailed as error:
        raise LostLease(call.activation.run.id) from error


def result_of(call: ToolContext, asked: SentMessage | None, names: str) -> str:
    """Return the result of the tool; if the asker must approve first, record that question."""
    if asked is None:
        return ASKED.format(names=names)
    call.activation.sent.append(asked)
    call.activation.results_wanted = True  # the model must not say that they were asked
    return TO_AGREE.format(place=place_of(call, asked.chat_id, asked.seq), names=names)
