"""SMS keywords, with which a person opts out, opts in again or asks for help.

The keywords are Twilio's: https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out. Each is
a whole message, in upper or lower case. Twilio answers keywords itself and, after a STOP, refuses
further SMS to that person. Skein also treats other requests to stop as a STOP (`opt_out.py`), and
confirms these itself.
"""

from collections.abc import Iterable

from skein.channels.opt_out import wants_no_more, wants_no_more_anywhere
from skein.channels.port import Keyword

STOP_WORDS = frozenset(
    {"stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout"}
)  # Twilio's own
START_WORDS = frozenset({"start", "unstop"})
HELP_WORDS = frozenset({"help", "info"})
MORE = "more"
YES = "yes"  # an opt-in only after a STOP; otherwise an ordinary answer

_OPT_OUT_TYPES: dict[str, Keyword] = {"STOP": "stop", "START": "start", "HELP": "help"}


def keyword_in(
    body: str,
    *,
    opt_out_type: str | None,
    opted_out: bool,
    numbers: Iterable[str] = (),
    countries: Iterable[str] = (),
) -> Keyword | None:
    """Return the keyword that an SMS consists of; None for an ordinary SMS.

    Args:
        body: The text of the SMS.
        opt_out_type: Twilio's own classification (`OptOutType`), which takes precedence. Twilio
            sends it only if Advanced Opt-Out is on, and then it covers the operator's own keywords
            too.
        opted_out: Whether the person has opted out before.
        numbers: The phone numbers of the line and the person. A request to stop may be in a
            language of the countries of these numbers.
        countries: The ISO codes of more countries whose languages are recognised: those that the
            line answers.
    """
    if opt_out_type and opt_out_type.upper() in _OPT_OUT_TYPES:
        return _OPT_OUT_TYPES[opt_out_type.upper()]
    # Ignore punctuation for STOP only: "Stop!" is clear, but "help!" may address the agent.
    if wants_no_more(body, numbers, countries):
        return "stop"
    word = body.strip().lower()
    if word in START_WORDS or (word == YES and opted_out):
        return "start"
    return "help" if word in HELP_WORDS else None


def could_start(body: str) -> bool:
    """Return whether an SMS opts its sender in again, if the sender has opted out before."""
    return body.strip().lower() == YES


def wants_rest(body: str) -> bool:
    """Return whether an SMS asks for the rest of a text that was cut."""
    return body.strip(" \t\r\n.!?\"'").lower() == MORE


def is_keyword(text: str) -> bool:
    """Return whether an SMS with this text can be a keyword, in any language."""
    known = keyword_in(text, opt_out_type=None, opted_out=False) is not None
    return known or wants_no_more_anywhere(text)
