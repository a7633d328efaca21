"""Put chats on the desk, where they wait for a person of the team.

An agent's tool or an operator can put a chat on the desk, and so can a message that contains one of
the tenant's desk words. `post_message` searches each message for these words, and puts the chat on
the desk in the transaction of the message. Afterwards, a job notifies the people of the chat
(`desk/notices.py`), and the event `help.requested` notifies services.
"""

import logging
from dataclasses import dataclass
from typing import NamedTuple

from skein.errors import Conflict, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.desk_stay import DeskStay
from skein.models.common.effects import effect_id
from skein.models.common.storage import Check
from skein.models.config.desk import DeskSettings
from skein.models.config.overrides import TenantSettings
from skein.ports import Clock, Table
from skein.services.chat_state.desk_stays import DeskRequest, begun
from skein.services.chat_state.snapshot import read_chat
from skein.services.common.optimistic import optimistic, revise, transact_guarded
from skein.services.outbox.dispatch import Dispatch

logger = logging.getLogger(__name__)


class RequestOutcome(NamedTuple):
    """The result of a request to put a chat on the desk.

    Attributes:
        before: Whether another request had already put the chat on the desk.
    """

    chat: Chat
    before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskRequests:
    """The service that puts chats on the desk."""

    table: Table
    clock: Clock
    dispatch: Dispatch

    def settings_of(self, tenant: str) -> DeskSettings:
        item = self.table.get(TenantSettings.key_of(tenant))
        return DeskSettings.model_validate(TenantSettings.from_optional(item))

    def ask(
        self,
        tenant: str,
        chat_id: str,
        request: DeskRequest,
        *,
        cause: str,
        guard: Check | None = None,
    ) -> RequestOutcome:
        """Put a chat on the desk, unless the chat is on the desk already (idempotent per cause).

        Args:
            cause: The id of what caused the request, e.g. of a tool call. A repeated request with
                the same cause does nothing, even if the chat has left the desk since.
            guard: The check that the requesting run is still this worker's; None without a run.

        Raises:
            NotFound: The chat does not exist.
            Conflict: The chat is discarded.
            Unprocessable: No agent is in the chat.
            LostLease: The guard failed: another worker has claimed the run.
        """
        stay_id = f"dsk_{effect_id('desk', cause)}"

        def attempt() -> RequestOutcome:
            chat = read_chat(self.table, tenant, chat_id)
            if chat.desk is not None:
                return RequestOutcome(chat, before=chat.desk.session != stay_id)
            if self.table.get(DeskStay.key_of(tenant, chat_id, stay_id)) is not None:
                return RequestOutcome(chat, before=False)
            if chat.discarded_at is not None:
                raise Conflict("the chat is discarded")
            if not any(member.kind == "agent" for member in chat.roster):
                raise Unprocessable("no agent is in this chat")
            new = begun(chat, stay_id, request, self.clock.now())
            waiting, write = revise(chat, {"desk": new.desk})
            transact_guarded(self.table, [write, new.write], guard)
            logger.info(
                "chat put on the desk",
                extra={"chat_id": chat_id, "reason_code": request.reason_code},
            )
            self.dispatch.send([new.job])
            return RequestOutcome(waiting, before=False)

        return optimistic(self.clock, attempt, finds_own_write=True)
