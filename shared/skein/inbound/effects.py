"""Handle a person's answer to the question whether a long-silent number is still theirs."""

from dataclasses import dataclass
from typing import ClassVar

from skein.errors import Conflict
from skein.models.directory.address_index import AddressOwner
from skein.ports import Table
from skein.services.choices.effect import (
    AnswerEffect,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberEffect(AnswerEffect):
    """Effect of the answer: a yes confirms the number's owner; after a no, it has no owner."""

    takes_place: ClassVar[bool] = False  # no other question can be answered before this one

    table: Table

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """After a yes, mark the number as proven; after a no, take it from the person.

        Raises:
            Conflict: The number does not belong to the person any more.
        """
        number = recorded.listed.number
        owner = (
            AddressOwner.read(self.table, AddressOwner.key_of(given.tenant, number))
            if number
            else None
        )
        if owner is None or owner.user_id != given.person_id or owner.reassigned:
            raise Conflict("the number no longer belongs to you")
        proven = owner.proven(recorded.answer.at.date())
        return Consequence([proven if recorded.agreed else owner.lost()])
