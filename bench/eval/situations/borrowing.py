"""The agent uses what is said in another chat, by borrowing its messages."""

from collections.abc import Iterator

from bench.eval.situation import (
    Expected,
    Missing,
    Script,
    Situation,
    call,
    calls,
    none_of,
    one_of,
    says,
    unless,
)
from bench.eval.stage import MINUTE, Stage

SCOUT = "You are Scout, an assistant of a small team. Answer in one or two short sentences."
ORDERS = 90  # more than a prompt shows and `read_messages` returns at once
MESSAGES_PER_MINUTE = 15  # within the limit of a person
LOOKS = ("read_messages", "enter_chat", "recall", "borrow_context")
TOOLS = ("send_message", "read_messages", "borrow_context", "end_run")

PRICE = Expected(
    (
        one_of("2,700", "2 700", "2.700"),
        none_of("costs 3,000", "costs 3 000"),
    ),
    right=("2,700.", "They now ask 2700 for Hafen.", "Hafen is 2 700; it was 3,000."),
    wrong=("3,000.", "I do not know.", "Hafen costs 3,000, not 2,700."),
)
DOOR = Expected(
    (one_of("4711"),),
    right=("4711.", "With the code 4711.", "The door opens with 4711."),
    wrong=("Sales never mentioned it.", "Ask Ben.", "With the code 1147."),
)
NO_DAY = Expected(
    (
        one_of("not", "n't", "none", "nobody", "never", "neither", "without", "no day", "no date"),
        none_of(
            "agreed on monday",
            "agreed on tuesday",
            "agreed on wednesday",
            "agreed on thursday",
            "agreed on friday",
            "agreed on saturday",
            "agreed on sunday",
            "agreed on the",
        ),
    ),
    right=(
        "As of today, Monday, Sales has not named a day.",
        "I found nothing about the fair.",
        "They haven't agreed on any day.",
    ),
    wrong=("They agreed on Tuesday.", "30 November.", "No doubt: they agreed on Friday."),
)


def _newest_figure(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT, enabled_tools=TOOLS)
    stage.office_and_sales("Scout")
    stage.say("Ben", "Sales", "The price for Hafen is 3,000.", wait=False)
    stage.say("Ann", "Office", "@Scout borrow from the chat Sales: I will ask you about it.")
    yield calls("borrow_context").missing(stage.played("Scout"))
    stage.say("Ben", "Sales", "Correction: they now ask 2,700.")
    stage.say("Ann", "Office", "@Scout what does Hafen cost now?")
    said = stage.answers("Office", reader="Ann")[-1:]
    yield PRICE.missing(said)


def _further_back(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT, enabled_tools=TOOLS)
    stage.office_and_sales("Scout")
    stage.say("Ben", "Sales", "The code of the door is 4711.", wait=False)
    for number in range(1, ORDERS + 1):
        stage.say("Ben", "Sales", f"Order {number} is packed.", wait=False)
        if number % MESSAGES_PER_MINUTE == 0:
            stage.turn(MINUTE)
    since = len(stage.exchanges)
    stage.say("Ann", "Office", "@Scout look far back in Sales: how do I get in?")
    yield unless(stage.looks_up("Scout", "4711", LOOKS, since=since), "looks it up")
    yield DOOR.missing(stage.answers("Office", reader="Ann"))


def _nothing_there(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT, enabled_tools=TOOLS)
    stage.office_and_sales("Scout")
    stage.say("Ben", "Sales", "Order 1 is packed.", wait=False)
    stage.say("Ann", "Office", "@Scout which day did Sales agree on for the fair? Look it up.")
    said = stage.answers("Office", reader="Ann")
    yield NO_DAY.missing(said)


SITUATIONS = (
    Situation(
        "knows the newest figure of another chat",
        "borrows",
        _newest_figure,
        Script(
            {
                "Scout": [
                    lambda s: [
                        call("borrow_context", chat_id=s.ids["Sales"]),
                        *says("I had a look."),
                    ],
                    says("2,700."),
                ]
            }
        ),
        Script({"Scout": [says("I had a look."), says("3,000.")]}),
    ),
    Situation(
        "reads far back in another chat",
        "borrows",
        _further_back,
        Script(
            {
                "Scout": [
                    lambda s: call("read_messages", chat_id=s.ids["Sales"], before=10),
                    says("The code is 4711."),
                ]
            }
        ),
        Script({"Scout": [says("Sales never mentioned a code.")]}),
    ),
    Situation(
        "makes nothing up that the other chat does not say",
        "borrows",
        _nothing_there,
        Script({"Scout": [says("Sales has not named a day.")]}),
        Script({"Scout": [says("They agreed on Tuesday.")]}),
    ),
)
