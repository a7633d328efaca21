"""Changes to a person's fields by agents or the person: old value, new value and source."""

from typing import Annotated, Any, Literal

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Value
from skein.models.common.person_names import NameSource

MAX_CHANGES = 30  # of one person; the oldest are dropped first
MAX_CHANGES_BYTES = 16_384  # of all changes as JSON; the newest change is always kept

ProfileChangeMadeBy = Literal["consolidation", "update_profile"]


class ProfileSource(Value):
    """The source of a value that an agent set.

    Attributes:
        made_by: Whether consolidation or the tool `update_profile` set the value.
        chat_id: The chat in which the person gave the value.
        seqs: The person's messages that the value comes from, ascending.
        said_at: When the newest of these messages was written.
        run_id: The run that called the tool; None for consolidation.
    """

    made_by: ProfileChangeMadeBy
    agent_id: Identifier
    chat_id: Identifier
    seqs: tuple[int, ...] = ()
    said_at: Instant
    run_id: Identifier | None = None


class ProfileChange(Value):
    """A change to a person's name, time zone or profile field, by an agent or the person.

    Attributes:
        id: `pch_<ulid>`.
        field: The name of the field.
        before: The value before the change; None if the field had no value.
        before_source: For an agent's change of the name, the source of the earlier name.
        value: The value after the change; None if the field was removed.
        source: The source of a value that an agent set; None if the person set the value in the
            app.
        at: When the value was set.
        undone_at: When an operator undid the change.
    """

    id: Identifier
    field: str
    before: Any = None
    before_source: Annotated[NameSource | None, Field(exclude_if=lambda source: source is None)] = (
        None
    )
    value: Any = None
    source: ProfileSource | None = None
    at: Instant
    undone_at: Instant | None = None
