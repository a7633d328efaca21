"""The agent borrows what another chat knows."""

from collections.abc import Iterator

from bench.eval.situation import Check, Script, Situation, call, says
from bench.eval.stage import MINUTE, Stage, matches

SCOUT = "You are Scout, an assistant of a small team. Answer in one or two short sentences."
MESSAGES_PER_MINUTE = 15  # within the limit of a person
TOOLS = ("send_message", "read_messages", "borrow_context", "end_run")


def _newest_figure(stage: Stage) -> Iterator[Check]:
    stage.agent("Scout", SCOUT, enabled_tools=TOOLS)
    stage.office_and_sales("Scout")
    stage.say("Ben", "Sales", "The price for Hafen is 3,000.", wait=False)
    stage.say("Ben", "Sales", "Correction: they now ask 2,700.", wait=False)
    stage.say("Ann", "Office", "@Scout have a look at the chat Sales, I will ask you about it.")
    stage.say("Ann", "Office", "@Scout what does Hafen cost now?")
    said = stage.answers("Office", reader="Ann")[-1:]
    yield Check("knows the newest price", matches(said, r"2[,.]?700"))


def _further_back(stage: Stage) -> Iterator[Check]:
    stage.agent("Scout", SCOUT, enabled_tools=TOOLS)
    stage.office_and_sales("Scout")
    stage.say("Ben", "Sales", "The code of the door is 4711.", wait=False)
    for number in range(1, 31):
        stage.say("Ben", "Sales", f"Order {number} is packed.", wait=False)
        if number % MESSAGES_PER_MINUTE == 0:
            stage.turn(MINUTE)
    stage.say("Ann", "Office", "@Scout look in the chat Sales: what is the code of the door?")
    yield Check("finds the code", matches(stage.answers("Office", reader="Ann"), "4711"))


def _nothing_there(stage: Stage) -> Iterator[Check]:
    stage.agent("Scout", SCOUT, enabled_tools=TOOLS)
    stage.office_and_sales("Scout")
    stage.say("Ben", "Sales", "Order 1 is packed.", wait=False)
    stage.say("Ann", "Office", "@Scout which day did Sales agree on for the fair? Look it up.")
    said = stage.answers("Office", reader="Ann")
    yield Check("answers", bool(said))
    yield Check(
        "makes up no day",
        not matches(said, r"\b(mon|tues|wednes|thurs|fri|satur|sun)day\b"),
    )


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
                        says("I had a look."),
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
