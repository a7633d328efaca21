"""Why a reader may see an item, besides sharing rules, and why not."""

from skein.models.common.reason import StatedReason


class SharingGround(StatedReason):
    """What decided whether a reader may see an item, where no sharing rule did."""

    # The reader may see it.
    OPEN = "open", "Everybody may see it: it comes from an open chat, or from no chat."
    PRESENCE = "presence", "All readers were present for all of it."
    CONSENT = (
        "consent",
        "Its author agreed by a choice or an errand to these words, for those who read this chat.",
    )
    MEMBERSHIP = (
        "membership",
        "A reader joined later, and reads it in its chat only.",
    )
    RULE = "rule", "A sharing rule lets agents tell it to all readers."

    # The reader may not.
    GONE = "gone", "The message was deleted or erased."
    RESET = "reset", "It was said before a reset, and agents show nothing from before it."
    READERS_OPEN = "readers_open", "Everybody may read that chat, so no rule tells words there."
    READER_GONE = "reader_gone", "A person of that chat has no record, or is being erased."
    OTHER_AGENT = "other_agent", "No agent of that chat is in the chat of the words."
    OUTSIDERS = (
        "outsiders",
        "The agent's private prompts hold no words of outsiders; so it is if its tools write.",
    )
    STAYS = (
        "stays_in_chat",
        "An agent was shown words by a sharing rule for it, so it stays in its chat.",
    )
