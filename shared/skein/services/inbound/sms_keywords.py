"""The words by which a person stops and starts texts, as Twilio knows them.

See https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out: the whole message is the word,
in any case. Twilio answers them itself and, after a STOP, refuses texts to that person.
"""

from typing import Literal

Keyword = Literal["stop", "start", "help"]

STOP_WORDS = frozenset(
    {"stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout"}
)
START_WORDS = frozenset({"start", "unstop"})
HELP_WORDS = frozenset({"help", "info"})
YES = "yes"  # starts texts again, but only after a STOP; at any other time it is an answer

_TOLD: dict[str, Keyword] = {"STOP": "stop", "START": "start", "HELP": "help"}
_PUNCTUATION = " \t\r\n.,;:!?\"'()*\u2026\u2019\u201c\u201d"


def keyword_in(body: str, *, told: str | None, opted_out: bool) -> Keyword | None:
    """Which keyword a text is; None for ordinary words.

    Args:
        body: The whole text.
        told: What Twilio says it is (`OptOutType`), which settles it; Twilio only says so where
            Advanced Opt-Out is on, and then knows the operator's own words, too.
        opted_out: Whether the person had stopped texts before.
    """
    if told and told.upper() in _TOLD:
        return _TOLD[told.upper()]
    # Punctuation only ever stops: "Stop!" is clear, but "help!" may be meant for the agent.
    if body.strip(_PUNCTUATION).lower() in STOP_WORDS:
        return "stop"
    word = body.strip().lower()
    if word in START_WORDS or (word == YES and opted_out):
        return "start"
    return "help" if word in HELP_WORDS else None


def could_start(body: str) -> bool:
    """Whether the text starts texts again, if the person had stopped them."""
    return body.strip().lower() == YES
