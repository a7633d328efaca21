"""Create, list, pause and cancel outreach, for operators."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from skein.channels.registry import channel_named
from skein.errors import ConditionFailed, Conflict, NotFound, Unprocessable
from skein.models.common.effects import effect_id
from skein.models.common.reason import Reason
from skein.models.common.storage import Missing, Put
from skein.models.config.overrides import Overrides, TenantOnlySettings, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.outbox.jobs import OutreachJob
from skein.outreach.models.outreach import KEPT, SEGMENTS_EACH, Outreach, outreach_relation
from skein.ports import Clock, Ids, Table
from skein.services.chats.first_contact import FirstContact
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation, read_items
from skein.services.config.message_templates import check_template
from skein.services.directory.agents import Agents
from skein.services.directory.text_consents import TextConsents
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.settings import Settings

if TYPE_CHECKING:
    from skein.outreach.api import NewOutreach, OutreachChange  # only the API imports them

SHARE = 2  # an outreach uses at most half of a line's rate; the rest is for answers
UNLIMITED = 60  # people per minute, on a line without a rate limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Outreaches:
    """The service with which operators create, list and change outreach."""

    table: Table
    clock: Clock
    ids: Ids
    agents: Agents
    contacts: FirstContact
    consents: TextConsents
    dispatch: Dispatch
    settings: Settings

    def create(self, tenant: str, by: str, new: "NewOutreach") -> Outreach:
        """Create an outreach. The agent writes to its people from `not_before` on.

        A repeated call with the same `client_id` creates nothing.

        Args:
            by: The operator.

        Raises:
            Unprocessable: The agent or one of the people does not exist, a value is invalid, or
                both `asked_by` and the setting `team_name` are missing.
            Conflict: One of the people has not consented to texts, or the agent has no line.
        """
        unique = effect_id("outreach", tenant, new.client_id) if new.client_id else self.ids.ulid()
        outreach_id = f"otr_{unique}"
        stored = Outreach.read(self.table, Outreach.key_of(tenant, outreach_id))
        if stored is not None:
            return stored
        people = tuple(dict.fromkeys(new.people))
        overrides = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
        agent = self._agent(tenant, new.agent_id)
        self._check_people(tenant, people)
        if new.template is not None:
            check_template(self.table, tenant, new.template)
        now = self.clock.now()
        last = _checked_times(new.not_before, new.not_after, now)
        outreach = Outreach(
            tenant=tenant,
            id=outreach_id,
            **new.model_dump(exclude={"people", "client_id", "asked_by"}),
            asked_by=new.asked_by or _team_name(overrides),
            user_ids=people,
            size=len(people),
            seconds=self._seconds_each(agent, overrides),
            by=by,
            created_at=now,
            expires_at=int((last + KEPT).timestamp()),
        )
        try:
            self.table.write(Put(outreach.key, outreach.to_item(now + OUTBOX_GRACE), Missing()))
        except ConditionFailed:
            return self.get(tenant, outreach_id)
        self.dispatch.send([OutreachJob(tenant=tenant, outreach_id=outreach_id)])
        return outreach

    def get(self, tenant: str, outreach_id: str) -> Outreach:
        """Return an outreach.

        Raises:
            NotFound: There is no such outreach.
        """
        outreach = Outreach.read(self.table, Outreach.key_of(tenant, outreach_id))
        if outreach is None:
            raise NotFound("outreach not found")
        return outreach

    def list(
        self, tenant: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Outreach]:
        """List a page of a tenant's outreach, newest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_relation(
            self.table,
            outreach_relation(tenant),
            Outreach,
            of="outreach",
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )

    def change(self, tenant: str, outreach_id: str, change: "OutreachChange") -> Outreach:
        """Pause, resume or cancel an outreach (idempotent).

        Raises:
            NotFound: There is no such outreach.
            Conflict: The outreach was canceled.
        """

        def attempt() -> Outreach:
            outreach = self.get(tenant, outreach_id)
            if outreach.status == change.status:
                return outreach
            if outreach.status == "canceled":
                raise Conflict("the outreach was canceled")
            changed, write = revise(outreach, {"status": change.status})
            self.table.write(write)
            return changed

        return optimistic(self.clock, attempt)

    def _agent(self, tenant: str, agent_id: str) -> Agent:
        try:
            return self.agents.get(tenant, agent_id)
        except NotFound as error:
            raise Unprocessable("agent not found") from error

    def _check_people(self, tenant: str, people: Sequence[str]) -> None:
        """Check that all people exist and have consented to texts.

        Raises:
            Unprocessable: One of them does not exist.
            Conflict: One of them has not consented.
        """
        found = read_items(self.table, [User.key_of(tenant, user_id) for user_id in people])
        users = {user.id: user for user in User.read_each(found)}
        unknown = [
            user_id
            for user_id in people
            if user_id not in users or users[user_id].erasure_id is not None
        ]
        if unknown:
            raise Unprocessable("user not found", details={"user_ids": unknown})
        consenting = self.consents.consenting(tenant, users.values())
        without = [user_id for user_id in people if user_id not in consenting]
        if without:
            raise Conflict(
                "these people have not consented to texts",
                details={"user_ids": without, "reason": Reason.NO_CONSENT.value},
                reason=Reason.NO_CONSENT,
            )

    def _seconds_each(self, agent: Agent, overrides: Overrides) -> float:
        """Return the seconds between the texts to two people, for the agent's slowest line.

        Raises:
            Conflict: The agent has no line.
        """
        settings = self.settings.overridden(overrides)
        paces = [
            channel_named(channel).pace(line.phone, settings)
            for line in self.contacts.lines_of(agent)
            for channel in line.channels
        ]
        if not paces:
            raise Conflict(
                "the agent has no line to write from",
                details={"reason": Reason.NO_LINE.value},
                reason=Reason.NO_LINE,
            )
        limited = [pace for pace in paces if pace]
        if not limited:
            return 60 / UNLIMITED
        return 60 / max(1, min(limited) // (SEGMENTS_EACH * SHARE))


def _team_name(overrides: Overrides) -> str:
    """Return the name of the tenant's team.

    Raises:
        Unprocessable: The team has no name.
    """
    own = {name: value for name, value in overrides.items() if name == "team_name"}
    name = TenantOnlySettings.model_validate(own).team_name
    if name is None:
        raise Unprocessable("asked_by is required because the setting team_name isn't set")
    return name


def _checked_times(
    not_before: datetime | None, not_after: datetime | None, now: datetime
) -> datetime:
    """Check the times of an outreach, and return the latest of them and `now`, when it has ended.

    Raises:
        Unprocessable: The times are invalid.
    """
    first = max(not_before or now, now)
    if not_after is not None and not_after <= first:
        raise Unprocessable("not_after must be later than now and than not_before")
    if first > now + timedelta(days=365):
        raise Unprocessable("not_before must be within a year")
    return max(not_after or first, first)
