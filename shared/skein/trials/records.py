"""Create, read, change and delete the cases of an agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from skein.errors import Conflict, Forbidden, NotFound, Unprocessable
from skein.models.common.storage import Delete, Missing, Put, Query
from skein.models.runs.run import Run
from skein.models.runs.step import PROMPT_GONE, Step, newest_prompt
from skein.ports import Clock, Ids, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition, read_items
from skein.services.config.tenant_settings import TenantSettingsService
from skein.services.runs.queries import RunViews
from skein.trials.models.case import MAX_CASES, Case, CaseView, NamedCase, cases_partition
from skein.trials.tried import cases_of

if TYPE_CHECKING:
    from skein.trials.api import CaseChange, NewCase

PRIVATE_CASE = "the case is of a private run: it needs the role 'privacy' and a reason"


@dataclass(frozen=True, slots=True)
class CaseOwner:
    """The agent whose cases a request may reach, and the operator who makes the request.

    Attributes:
        by: The operator.
        private: Whether the operator may see private content.
    """

    tenant: str
    agent_id: str
    by: str | None = None
    private: bool = False

    def check(self, *, private: bool) -> None:
        """Check that the operator may see a case, given whether its run is private.

        Raises:
            Forbidden: The run is private, and the operator may not see private content.
        """
        if private and not self.private:
            raise Forbidden(PRIVATE_CASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The service that stores the cases of agents."""

    table: Table
    clock: Clock
    ids: Ids
    runs: RunViews
    tenant_settings: TenantSettingsService

    def create(self, owner: CaseOwner, new: "NewCase") -> CaseView:
        """Create a case of a script, or of a run that has ended.

        Raises:
            NotFound: The agent has no such run.
            Forbidden: The run is private and the operator may not see private content, or the
                tenant forbids operators to read chats.
            Conflict: The agent has too many cases, the run has not ended, or its prompt is gone.
        """
        partition = cases_partition(owner.tenant, owner.agent_id)
        if len(self.table.query(Query.under(partition, Case.PREFIX)).items) >= MAX_CASES:
            raise Conflict(f"an agent has at most {MAX_CASES} cases")
        case = Case(
            tenant=owner.tenant,
            agent_id=owner.agent_id,
            id=f"case_{self.ids.ulid()}",
            created_at=self.clock.now(),
            changed_by=owner.by,
            **self._of_run(owner, new.run_id),
            **dict(new),
        )
        self.table.write(Put(case.key, case.attributes(), Missing()))
        return self._views(owner, [case])[0]

    def get(self, owner: CaseOwner, case_id: str) -> CaseView:
        """Return a case with its run.

        Raises:
            NotFound: The case does not exist.
        """
        return self._views(owner, [self._case(owner, case_id)])[0]

    def list(
        self, owner: CaseOwner, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[CaseView]:
        """List a page of an agent's cases, oldest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        page = list_partition(
            self.table,
            cases_partition(owner.tenant, owner.agent_id),
            (Case.PREFIX,),
            Case.from_item,
            limit=limit,
            cursor=cursor,
        )
        return Listing(self._views(owner, page.items), page.next_cursor)

    def all(self, owner: CaseOwner) -> tuple[CaseView, ...]:
        """Return all cases of an agent, oldest first, without pages."""
        return self._views(owner, [*cases_of(self.table, owner.tenant, owner.agent_id)])

    def change(self, owner: CaseOwner, case_id: str, change: "CaseChange") -> CaseView:
        """Change some fields of a case.

        Raises:
            NotFound: The case does not exist.
            Forbidden: The case is private, and the operator may not see private content.
            Unprocessable: The fields do not fit together.
        """

        def attempt() -> Case:
            case = self._case(owner, case_id)
            owner.check(private=case.private)
            given = _checked(dict(case) | change.given)
            signed = {**given, "changed_at": self.clock.now(), "changed_by": owner.by}
            revised, write = revise(case, signed)
            self.table.write(write)
            return revised

        return self._views(owner, [optimistic(self.clock, attempt)])[0]

    def delete(self, owner: CaseOwner, case_id: str) -> None:
        """Delete a case.

        Raises:
            NotFound: The case does not exist.
            Forbidden: The case is private, and the operator may not see private content.
        """
        case = self._case(owner, case_id)
        owner.check(private=case.private)
        self.table.write(Delete(case.key))

    def _case(self, owner: CaseOwner, case_id: str) -> Case:
        case = Case.read(self.table, Case.key_of(owner.tenant, owner.agent_id, case_id))
        if case is None:
            raise NotFound("case not found")
        return case

    def _of_run(self, owner: CaseOwner, run_id: str | None) -> Mapping[str, Any]:
        """Return where the prompt of a run is, and whether the run is private."""
        if run_id is None:
            return {}
        view = self.runs.get(owner.tenant, run_id)
        if view.run.agent_id != owner.agent_id:
            raise NotFound("run not found")
        self.tenant_settings.check_reading(owner.tenant)
        owner.check(private=view.run.private)
        if not view.run.ended:
            raise Conflict("the run has not ended")
        newest = newest_prompt(view.steps)
        if newest is None:
            raise Conflict(PROMPT_GONE)
        return {"step": newest[0].n, "private": view.run.private}

    def _views(self, owner: CaseOwner, cases: Sequence[Case]) -> tuple[CaseView, ...]:
        """Return cases with their runs, and with the steps that hold the prompts."""
        keys = {key for each in cases for key in each.prompt_keys or ()}
        found, views = read_items(self.table, sorted(keys)), []
        for case in cases:
            run, prompt = None, None
            if case.prompt_keys is not None:
                run_key, step_key = case.prompt_keys
                run, step = Run.read(found, run_key), Step.read(found, step_key)
                prompt = step.kept_prompt if run is not None and step is not None else None
            views.append(CaseView(case, run, prompt, case.private and not owner.private))
        return tuple(views)


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a case after checking that they fit together.

    Raises:
        Unprocessable: The fields do not fit together.
    """
    try:
        return dict(NamedCase.model_validate(fields))
    except ValidationError as error:
        raise Unprocessable("; ".join(each["msg"] for each in error.errors())) from None
