"""Reasons why a reader may or may not see an item."""

from skein.models.common.reason import StatedReason


class AccessGrant(StatedReason):
    """Why a reader may see an item."""

    OPEN = "open", "Everyone in the tenant can see it: it comes from an open chat or from no chat."
    PRESENCE = "presence", "All readers were present when it was said."
    CONSENT = "consent", "Its author approved this text for this chat, in a choice or an errand."
    MEMBERSHIP = "membership", "A reader joined later and can only read it in its own chat."
    RULE = "rule", "A sharing rule lets agents share it with all readers."


class AccessRefusal(StatedReason):
    """Why a reader may not see an item, if the reason does not depend on sharing rules."""

    GONE = "gone", "The message was deleted or erased."
    RESET = "reset", "It was said before a reset. Agents don't use anything from before a reset."
    READERS_OPEN = "readers_open", "Sharing rules don't apply in a chat that is open to everyone."
    READER_GONE = "reader_gone", "A member of that chat has no record or is being erased."
    OTHER_AGENT = "other_agent", "No agent in that chat is also in the chat where this was said."
    OUTSIDERS = "outsiders", "The agent's private prompts exclude messages from outsiders."
    STAYS = "stays_in_chat", "It is based on messages shared by a rule, so it stays in its chat."
