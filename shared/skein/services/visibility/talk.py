"""Update a direct chat's state for sharing rules when messages are posted there."""

from skein.models.chats.chat import Chat, Message
from skein.models.visibility.talk import SharingState
from skein.services.common.words import words_of
from skein.services.visibility.sharing_rules import pause_in
from skein.settings import Settings

KEEPS = (["private"], ["keep", "private"])  # the texts that keep a conversation private


def keeps_talk(chat: Chat, message: Message) -> bool:
    """Return whether a message keeps the current talk private: it says PRIVATE or KEEP PRIVATE.

    If the person was never notified of a sharing rule in the chat, this is an ordinary message.
    """
    sharing = chat.sharing
    if sharing is None or message.sender.person_id != sharing.person_id or message.kind != "text":
        return False
    return message.via is None and [*words_of(message.text)] in KEEPS


def sharing_with(chat: Chat, message: Message, settings: Settings) -> SharingState | None:
    """Return the sharing state of a chat after its next message."""
    sharing, alone = chat.sharing, chat.kind == "direct" and len(chat.person_ids) == 1
    if message.noticed_rules and alone:
        if sharing is None or sharing.person_id != chat.person_ids[0]:
            sharing = SharingState(
                person_id=chat.person_ids[0], talk_from=message.seq, spoke_at=message.created_at
            )
        noticed = dict.fromkeys(message.noticed_rules, message.seq) | sharing.noticed
        sharing = sharing.model_copy(update={"noticed": noticed})
    if sharing is None or message.sender.person_id != sharing.person_id:
        return sharing
    sharing = sharing.spoken(message.seq, message.created_at, pause_in(chat, settings))
    return sharing.kept_private(message.seq) if message.keeps else sharing
