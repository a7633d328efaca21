"""Reasons other than sharing rules why a reader may or may not see an item."""

from skein.models.common.reason import StatedReason


class AccessReason(StatedReason):
    """The reason that decided whether a reader may see an item, if it was not a sharing rule."""

    # The reader may see it.
    OPEN = (
        "open",
        "Everyone in the tenant can see it, because it comes from an open chat or from no chat.",
    )
    PRESENCE = "presence", "All readers were present when it was said."
    CONSENT = (
        "consent",
        "Its author approved this text for the readers of this chat, in a choice or an errand.",
    )
    MEMBERSHIP = (
        "membership",
        "A reader joined later and can only read it in its own chat.",
    )
    RULE = "rule", "A sharing rule lets agents share it with all readers."

    # The reader may not see it.
    GONE = "gone", "The message was deleted or erased."
    RESET = "reset", "It was said before a reset. Agents don't use anything from before a reset."
    READERS_OPEN = (
        "readers_open",
        "That chat is open to everyone, so sharing rules don't apply there.",
    )
    READER_GONE = "reader_gone", "A member of that chat has no record or is being erased."
    OTHER_AGENT = "other_agent", "No agent in that chat is also in the chat where this was said."
    OUTSIDERS = (
        "outsiders",
        (
            "The agent's private prompts exclude messages from outsiders, as with any agent "
            "whose tools write."
        ),
    )
    STAYS = (
        "stays_in_chat",
        "It is based on messages shared by a rule, so it stays in its chat.",
    )
