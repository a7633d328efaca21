"""Messages of visitors. The transaction of the first message also creates the visitor and chat."""

from dataclasses import dataclass
from datetime import timedelta

from skein.errors import NotFound, Unprocessable
from skein.identity.models.visit import Visit, VisitClaims
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.storage import Missing, Put
from skein.models.config.overrides import TenantOnlySettings, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.app_messages import AppMessages
from skein.services.chats.post_message import Chats, NewMessage, PostedMessage
from skein.services.choices.typed_answers import TypedAnswers
from skein.services.config.retention import retention_of
from skein.web_chat.limits import VisitLimits
from skein.web_chat.models.widget import Widget

MAX_CHARACTERS = 4_000
NAME = "Visitor"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitMessages:
    """The service that posts the messages of visitors."""

    table: Table
    clock: Clock
    chats: Chats
    app_messages: AppMessages
    typed_answers: TypedAnswers
    limits: VisitLimits

    def post(self, claims: VisitClaims, new: NewMessage) -> PostedMessage:
        """Post a visitor's message (idempotent). The first message opens the chat.

        Raises:
            NotFound: The widget or its agent no longer exists.
            Unprocessable: The text is empty or too long.
            RateLimited: A limit is used up. Nothing was stored.
            Rejected: As in `Chats.post_message`.
        """
        if len(new.text) > MAX_CHARACTERS:
            raise Unprocessable(f"a message has at most {MAX_CHARACTERS:,} characters")
        started = self.table.get(Visit.key_of(claims.tenant, claims.visitor_id)) is not None
        earlier = self.chats.earlier(new) if started else None
        if earlier is not None:
            return PostedMessage(earlier, created=False)
        widget = self.admit(claims)
        if started:
            return self.typed_answers.post_in_app(new)
        return self.app_messages.post(new, opening=self._opening(claims, widget))

    def admit(self, claims: VisitClaims) -> Widget:
        """Take one message, or one answer to a choice, from the limits; return the visit's widget.

        Raises:
            NotFound: The widget no longer exists.
            RateLimited: A limit is used up.
        """
        widget = Widget.read(self.table, Widget.key_of(claims.widget_id))
        if widget is None:
            raise NotFound("widget not found")
        self.limits.admit_message(widget, claims)
        return widget

    def _opening(self, claims: VisitClaims, widget: Widget) -> ChatSnapshot:
        """Return the chat that a visit's first message opens, with the writes that create it."""
        tenant, now = claims.tenant, self.clock.now()
        settings_key = TenantSettings.key_of(tenant)
        agent_key = Agent.key_of(tenant, widget.agent_id)
        found = self.table.get_many([settings_key, agent_key])
        agent = Agent.read(found, agent_key)
        if agent is None or agent.deleted_at is not None:
            raise NotFound("agent not found")
        settings = TenantSettings.from_optional(found.get(settings_key))
        user = User(tenant=tenant, id=claims.visitor_id, name=NAME, created_at=now)
        chat = Chat(
            tenant=tenant,
            id=claims.chat_id,
            kind="direct",
            visibility="private",
            roster=(user.as_member, agent.as_member),
            activity_hour=now.replace(minute=0, second=0, microsecond=0),
            retention=retention_of(settings),
            created_at=now,
        )
        members = tuple(
            Membership(tenant=tenant, chat_id=chat.id, member=each) for each in chat.roster
        )
        visit = Visit(
            tenant=tenant,
            id=user.id,
            widget_id=widget.id,
            chat_id=chat.id,
            consent=claims.consent,
            renewed_at=now,
            created_at=now,
        )
        kept = timedelta(days=TenantOnlySettings.model_validate(settings).visitor_days)
        opening = (
            Put(chat.key, chat.to_item(), Missing()),
            *(Put(each.key, each.to_item(chat), Missing()) for each in members),
            Put(user.key, user.to_item(), Missing()),
            Put(visit.key, visit.to_item(now + kept), Missing()),
        )
        return ChatSnapshot(chat, members, opening)
