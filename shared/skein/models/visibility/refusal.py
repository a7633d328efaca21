"""Why a sharing rule may not share a message with a person: the first condition that fails."""

from skein.models.common.reason import StatedReason


class SharingRefusal(StatedReason):
    """Why a message is not shared with a person, in the order in which conditions are checked."""

    # No rule can share the item.
    NOT_OWN_WORDS = "not_own_words", "Sharing rules only apply to what people write themselves."
    AUTHOR_GONE = "author_gone", "The author has no record or is being erased."
    DISCARDED = "discarded", "The chat was discarded."
    NOT_ALONE = "not_alone", "It wasn't said in a private chat between one person and an agent."
    FORMER_ACCOUNT = "former_account", "It was said under an account that was later merged."
    NO_NOTICE = "no_notice", "The author wasn't notified of a sharing rule in that chat."
    PRIVATE = "private", "The author is keeping the current conversation private (PRIVATE)."
    KEPT = "kept", "The author kept it private (PRIVATE), or withdrew it later."
    TALK_NOT_OVER = "talk_not_over", "The conversation isn't over: the author wrote too recently."
    NO_READER = "no_reader", "The chat has no readers."
    READER_REFUSES = "reader_refuses", "A reader turned sharing off."

    # One rule does not share it with one reader.
    OWN_WORDS = "own_words", "The reader is the author."
    AUTHOR_ROLE = "author_role", "The author didn't have the rule's role at that time."
    READER_ROLE = "reader_role", "The reader doesn't have the rule's role."
    SUBJECT = "subject", "Author and reader must have exactly one subject each, and the same one."
    RULE_NOT_BEGUN = "rule_not_begun", "The rule begins later."
    RULE_ENDED = "rule_ended", "The rule has ended."
    RULE_DELETED = "rule_deleted", "The rule was deleted."
    BEFORE_RULE = "before_rule", "It was said before the rule began."
    BEFORE_NOTICE = "before_notice", "It was said before the author was notified of the rule."

    # No rule applies to every reader.
    NO_RULE = "no_rule", "No sharing rule shares this with every reader."
