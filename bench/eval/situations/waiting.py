"""The agent asks, waits, and uses the reply."""

from collections.abc import Iterator

from bench.eval.situation import (
    Expected,
    Missing,
    Script,
    ScriptedTurn,
    Situation,
    call,
    calls_not,
    one_of,
    says,
)
from bench.eval.stage import HOUR, Stage

SCOUT = "You are Scout, an assistant of a small team. Answer in one or two short sentences."
NOT_YET = "Nobody has answered yet."

NO_REPLY = Expected(
    (
        one_of("nobody", "no one", "not", "n't", "no answer", "no reply", "no response"),
        one_of("answer", "repl", "hear", "respon"),
    ),
    right=(
        "I asked whether they come, but nobody has answered yet.",
        "I asked whether they will come; no reply yet.",
        "Sales hasn't responded.",
    ),
    wrong=("No, they won't come.", "Sales said no.", "Sales will not come."),
)

SEATS = Expected(
    (one_of("40", "forty"),),
    right=(
        "They need 40.",
        "Sales needs forty seats.",
        "40 seats.",
    ),
    wrong=(
        "14.",
        "Nobody has answered yet.",
        "They need 400.",
    ),
)

CLOSED = Expected(
    (one_of("closed", "not open", "shut"),),
    right=(
        "The office is closed tomorrow.",
        "Tomorrow we are closed.",
        "The office will not open tomorrow; it is shut.",
    ),
    wrong=(
        "The office is open.",
        "Hello Sales.",
        "No reply needed.",
    ),
)

ASKS_SEATS = Expected(
    (one_of("seat"),),
    right=(
        "How many seats do you need?",
        "Ann asks for the number of seats that you need.",
        "Seats: how many, please?",
    ),
    wrong=("Hello Sales!", "What do you need?", "Nobody has answered yet."),
)

ASKS_SIZE = Expected(
    (
        one_of(
            "which size", "what size", "your size", "size?", "medium or", "small, medium", "large?"
        ),
    ),
    right=(
        "Ben, which size do you wear?",
        "Ben, please tell me your size.",
        "Ben, are you medium or large?",
    ),
    wrong=("I will ask Ben for his size.", "Ben wears large.", "All right."),
)

LARGE = Expected(
    (one_of("large", "is l.", "size l", "wears l"),),
    right=("Ben wears large.", "It is L.", "Size large for Ben."),
    wrong=("Ben has not answered.", "Ben wears medium.", "He wears XS."),
)


def _asks_elsewhere(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.office_and_sales("Scout")
    stage.say("Ann", "Office", "@Scout ask Sales how many seats they need and tell us here.")
    asked = stage.answers("Sales", reader="Ben")
    yield ASKS_SEATS.missing(asked)
    stage.say("Ben", "Sales", "We need 40.")
    yield SEATS.missing(stage.answers("Office", reader="Ann"))


def _reply_of_another(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.office("Scout", "Ann", "Ben")
    stage.say("Ann", "Office", "@Scout ask Ben which size he wears, wait for him, and sum it up.")
    stage.say("Ben", "Office", "Large.")
    said = stage.answers("Office", reader="Ann")
    yield ASKS_SIZE.missing(said[:1])
    yield LARGE.missing(said[1:])


def _nobody_answers(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.office_and_sales("Scout")
    stage.say("Ann", "Office", "@Scout ask Sales whether they come, wait, and tell us the result.")
    stage.turn(HOUR)
    said = stage.answers("Office", reader="Ann")
    yield NO_REPLY.missing(said[-1:])


def _does_not_wait_needlessly(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.office_and_sales("Scout")
    stage.say(
        "Ann", "Office", "@Scout tell Sales that the office is closed tomorrow. No reply needed."
    )
    yield CLOSED.missing(stage.answers("Sales", reader="Ben"))
    yield calls_not("send_message", wait=True).missing(stage.played("Scout"))


def _ask_sales(text: str, *, wait: bool) -> ScriptedTurn:
    return lambda s: call("send_message", text=text, chat_id=s.ids["Sales"], wait=wait)


def _tell_office(text: str) -> ScriptedTurn:
    return lambda s: call("send_message", text=text, chat_id=s.ids["Office"])


SITUATIONS = (
    Situation(
        "asks in another chat and brings the reply home",
        "waits",
        _asks_elsewhere,
        Script(
            {
                "Scout": [
                    _ask_sales("How many seats do you need?", wait=True),
                    _tell_office("Sales needs 40 seats."),
                ]
            }
        ),
        Script({"Scout": [_ask_sales("How many seats do you need?", wait=False)]}),
    ),
    Situation(
        "waits for a person in the same chat",
        "waits",
        _reply_of_another,
        Script(
            {
                "Scout": [
                    call("send_message", text="Ben, which size do you wear?", wait=True),
                    says("Ben wears large."),
                ]
            }
        ),
        Script({"Scout": [says("Ben, which size do you wear?")]}),
    ),
    Situation(
        "says that nobody answered",
        "waits",
        _nobody_answers,
        Script({"Scout": [_ask_sales("Do you come?", wait=True), _tell_office(NOT_YET)]}),
        Script({"Scout": [_ask_sales("Do you come?", wait=True), _tell_office("They come.")]}),
    ),
    Situation(
        "does not wait where no reply is needed",
        "waits",
        _does_not_wait_needlessly,
        Script({"Scout": [_ask_sales("The office is closed tomorrow.", wait=False)]}),
        Script({"Scout": [_ask_sales("The office is closed tomorrow.", wait=True)]}),
    ),
)
