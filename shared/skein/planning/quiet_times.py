"""Quiet times: when a plan that would send an SMS in quiet hours may fire."""

from dataclasses import dataclass
from datetime import datetime

from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.config.overrides import LimitSettings, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.planning.models.plan import Plan
from skein.planning.plans import TICK_SLACK
from skein.ports import Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.delivery.enqueue import person_disturbed
from skein.services.directory.time_zones import quiet_until
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietTimes:
    """The quiet hours of the people that plans reach by SMS.

    Quiet hours apply to a plan of a direct chat whose person gets SMS, unless that person chose the
    plan's time.
    """

    table: Table
    settings: Settings

    def end_for(self, plan: Plan, chat: Chat | None, now: datetime) -> datetime | None:
        """Return the time until which a due plan is deferred; None if the plan may fire.

        A plan that was due just before quiet hours may fire, although the tick is a little late.

        Args:
            chat: The plan's chat.
        """
        person = next((one for one in chat.roster if one.kind == "user"), None) if chat else None
        if chat is None or chat.kind != "direct" or person is None or plan.next_at is None:
            return None
        if plan.at_time_of(person.id):
            return None
        member_key = Membership.key_of(plan.tenant, chat.id, person.ref)
        user_key = User.key_of(plan.tenant, person.id)
        tenant_key = TenantSettings.key_of(plan.tenant)
        agent_key = Agent.key_of(plan.tenant, plan.agent_id)
        found = self.table.get_many([member_key, user_key, tenant_key, agent_key])
        if member_key not in found or agent_key not in found:
            return None
        ends = self.end_of(
            plan,
            plan.next_at if now - plan.next_at <= TICK_SLACK else now,
            ChatSnapshot(chat, (Membership.must_read(found, member_key),)),
            User.read(found, user_key),
            Agent.must_read(found, agent_key),
            self.settings.overridden(TenantSettings.from_optional(found.get(tenant_key))),
        )
        return ends if ends is not None and ends > now else None

    def end_of(
        self,
        plan: Plan,
        moment: datetime,
        snapshot: ChatSnapshot | None,
        user: User | None,
        agent: Agent,
        settings: LimitSettings,
    ) -> datetime | None:
        """Return when the quiet hours end, if the plan would fire during quiet hours.

        Args:
            moment: When the plan would fire.
            snapshot: The plan's chat with the membership of its person.
            user: The person's record.
            agent: The agent, whose zone is used if the person's is unknown.

        Returns:
            The end; None if no quiet hours apply at that moment.
        """
        reached = person_disturbed(snapshot) if snapshot is not None else None
        if reached is None or plan.at_time_of(reached.member.id):
            return None
        return quiet_until(moment, user, settings, agent.time_zone)
