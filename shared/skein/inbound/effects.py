"""The effect of an answer to the question whether a silent number is still its person's."""

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
    """A yes proves the number; after a no, the next SMS from it makes a new person."""

    takes_place: ClassVar[bool] = False  # the person cannot go on without it

    table: Table

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Prove the number, or take it from the person.

        Raises:
            Conflict: The number is not the person's any more.
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
