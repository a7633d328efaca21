"""Why a person may not be told words by a sharing rule: the first condition that fails."""

from skein.models.common.reason import StatedReason


class SharingRefusal(StatedReason):
    """Why words are not told to somebody, in the order in which conditions are checked."""

    # No rule can tell the item.
    NOT_OWN_WORDS = (
        "not_own_words",
        "Rules tell texts of people, not agents' words, summaries, memories or notes.",
    )
    AUTHOR_GONE = "author_gone", "The author has no record, or is being erased."
    DISCARDED = "discarded", "The chat of the words is discarded."
    NOT_ALONE = "not_alone", "The words were not said in a private chat of one person and an agent."
    FORMER_ACCOUNT = (
        "former_account",
        "The words were said under an account that was merged into another one.",
    )
    NO_NOTICE = "no_notice", "The author was told of no sharing rule in that chat."
    PRIVATE = "private", "The author keeps the newest talk from others (PRIVATE)."
    KEPT = "kept", "The author kept the talk from others (PRIVATE), or withdrew the words later."
    TALK_NOT_OVER = "talk_not_over", "The talk is not over: the author was not quiet long enough."
    NO_READER = "no_reader", "Nobody would read it."
    READER_REFUSES = "reader_refuses", "A reader turned off being told what others said."

    # One rule does not tell them to one reader.
    OWN_WORDS = "own_words", "The reader is the author."
    AUTHOR_ROLE = "author_role", "The rule does not name a role that the author had at that time."
    READER_ROLE = "reader_role", "The rule does not name a role that the reader has now."
    SUBJECT = (
        "subject",
        "The roles of author and reader must each have exactly one subject, and the same.",
    )
    RULE_NOT_BEGUN = "rule_not_begun", "The rule begins later."
    RULE_ENDED = "rule_ended", "The rule has ended."
    RULE_DELETED = "rule_deleted", "The rule was deleted."
    BEFORE_RULE = "before_rule", "The words were said before the rule began."
    BEFORE_NOTICE = "before_notice", "The words were said before the author was told of the rule."

    # All rules.
    NO_RULE = "no_rule", "No sharing rule tells these words to every reader."
