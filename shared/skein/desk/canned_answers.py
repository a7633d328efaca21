"""The canned answers of a tenant: create, list, change and delete them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skein.desk.models.canned_answer import MAX_ANSWERS, CannedAnswer, answers_partition
from skein.errors import ConditionFailed, Conflict, NotFound
from skein.models.common.storage import Delete, Missing, Put, Query, at_version
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition

if TYPE_CHECKING:
    # Only the API creates these models, so only the API imports them.
    from skein.desk.api import CannedAnswerChange, NewCannedAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class CannedAnswers:
    """The service of a tenant's canned answers."""

    table: Table
    clock: Clock

    def create(self, tenant: str, new: "NewCannedAnswer") -> CannedAnswer:
        """Store a new canned answer.

        Raises:
            Conflict: The name is in use, or the tenant already has 200 canned answers.
        """
        partition = answers_partition(tenant)
        query = Query.under(partition, CannedAnswer.PREFIX, limit=MAX_ANSWERS)
        if len(self.table.query(query).items) >= MAX_ANSWERS:
            raise Conflict(f"a tenant has at most {MAX_ANSWERS} canned answers; delete one first")
        answer = CannedAnswer(
            tenant=tenant, name=new.name, text=new.text, updated_at=self.clock.now()
        )
        try:
            self.table.write(Put(answer.key, answer.attributes(), Missing()))
        except ConditionFailed:
            raise Conflict("a canned answer with this name already exists") from None
        return answer

    def get(self, tenant: str, name: str) -> CannedAnswer:
        """Return a canned answer.

        Raises:
            NotFound: No canned answer has this name.
        """
        answer = CannedAnswer.read(self.table, CannedAnswer.key_of(tenant, name))
        if answer is None:
            raise NotFound("canned answer not found")
        return answer

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[CannedAnswer]:
        """List a page of a tenant's canned answers, by name.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            answers_partition(tenant),
            (CannedAnswer.PREFIX,),
            CannedAnswer.from_item,
            limit=limit,
            cursor=cursor,
        )

    def change(self, tenant: str, name: str, change: "CannedAnswerChange") -> CannedAnswer:
        """Change the text of a canned answer.

        Raises:
            NotFound: No canned answer has this name.
        """

        def attempt() -> CannedAnswer:
            answer = self.get(tenant, name)
            if not change.given:
                return answer
            revised, write = revise(answer, change.given | {"updated_at": self.clock.now()})
            self.table.write(write)
            return revised

        return optimistic(self.clock, attempt)

    def delete(self, tenant: str, name: str) -> None:
        """Delete a canned answer.

        Raises:
            NotFound: No canned answer has this name.
        """

        def attempt() -> None:
            answer = self.get(tenant, name)
            self.table.write(Delete(answer.key, at_version(answer.version)))

        optimistic(self.clock, attempt)
