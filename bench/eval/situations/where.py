"""The agent speaks in the right chat."""

from collections.abc import Iterator

from bench.eval.situation import (
    SILENT,
    Expected,
    Missing,
    Script,
    Situation,
    call,
    none_of,
    one_of,
    says,
    unless,
)
from bench.eval.situations.told_in_groups import BUDGET
from bench.eval.stage import HOUR, MINUTE, Stage

SCOUT = "You are Scout, an assistant of a small team. Answer in one or two short sentences."
LEDGER = "You are Ledger, who keeps the budget of a small team: 900 for this month."
COACH = "You are Coach, a running coach. Answer in one or two short sentences."
PHONE = "+14155550101"
PLANS = ("send_message", "set_plan", "end_run")

LOOKS = ("read_messages", "enter_chat")

FORTY = Expected(
    (one_of("40", "forty"),),
    right=("40.", "They ordered forty chairs.", "The order is for 40 chairs."),
    wrong=("14.", "I could not find it.", "4 chairs."),
)
ASKS_LEDGER = Expected(
    (
        one_of("@ledger", "ledger, what", "ledger, how", "ledger, can", "ledger, could"),
        none_of("100", "200", "300", "400", "500", "600", "700", "800", "900", "1000"),
    ),
    right=("@Ledger how high is the budget?", "Ledger, what is it?", "@Ledger, the budget please."),
    wrong=("I'll ask Ledger later.", "Ledger says 500.", "@Ledger is it 500?"),
)

PARIS = Expected(
    (one_of("paris"),),
    right=(
        "Paris.",
        "It is Paris.",
        "The capital of France is Paris.",
    ),
    wrong=(
        "Lyon.",
        "I do not know.",
        "Berlin.",
    ),
)

STRETCH = Expected(
    (one_of("stretch"),),
    right=(
        "Time to stretch!",
        "Your reminder: stretching.",
        "Stretch now.",
    ),
    wrong=(
        "Hello!",
        "Here is your reminder.",
        "Drink water.",
    ),
)

PLANTS = Expected(
    (one_of("plants"),),
    right=(
        "Please water the plants.",
        "The plants need water.",
        "Plants!",
    ),
    wrong=(
        "Hello!",
        "Here is your reminder.",
        "Lunch is ready.",
    ),
)

AT_THREE = Expected(
    (one_of("three", "3 pm", "3 p.m", "3:00", "15:00", "15.00"),),
    right=("The demo is at three.", "Demo at 3pm.", "Ann says: demo, 15:00."),
    wrong=("The demo is at four.", "There is a demo.", "The demo is at 13:00."),
)


def _where_asked(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.office_and_sales("Scout")
    stage.say("Ann", "Office", "Lunch is at noon.", wait=False)
    stage.say("Ben", "Sales", "@Scout what is the capital of France?")
    yield PARIS.missing(stage.answers("Sales", reader="Ann"))
    yield SILENT.missing(stage.answers("Office", reader="Ann"))


def _told_elsewhere(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.office_and_sales("Scout")
    stage.say("Ann", "Office", "@Scout please tell the chat Sales that the demo is at three.")
    yield AT_THREE.missing(stage.answers("Sales", reader="Ann"))


def _back_home(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.office_and_sales("Scout")
    stage.say("Ben", "Sales", "The customer ordered 40 chairs.", wait=False)
    since = len(stage.exchanges)
    stage.say("Ann", "Office", "@Scout read the chat Sales. How many chairs were ordered?")
    yield unless(stage.looks_up("Scout", "40 chairs", LOOKS, since=since), "reads Sales")
    yield FORTY.missing(stage.answers("Office", reader="Ann"))
    yield SILENT.missing(stage.answers("Sales", reader="Ann"))


def _other_agent(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.agent("Ledger", LEDGER)
    stage.person("Ann")
    stage.chat("Office", "Ann", "Scout", "Ledger", respond="mention")
    stage.say("Ann", "Office", "@Scout ask Ledger here in the chat how high the budget is.")
    said = stage.answers("Office", reader="Ann", agent="Scout")
    yield ASKS_LEDGER.missing(said[:1])
    back = stage.answers("Office", reader="Ann", agent="Ledger")
    yield BUDGET.missing(back)


def _plan_by_sms(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH, enabled_tools=PLANS)
    stage.sms(PHONE, "Remind me in 45 minutes to stretch.")
    before = len(stage.received(PHONE))
    stage.turn(HOUR)
    yield STRETCH.missing(stage.received(PHONE)[before:])


def _plan_in_a_group(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT, enabled_tools=PLANS)
    stage.office_and_sales("Scout")
    stage.say("Ann", "Office", "@Scout remind us here in one hour to water the plants.")
    before = len(stage.answers("Office", reader="Ann"))
    stage.turn(HOUR + 10 * MINUTE)
    reminded = stage.answers("Office", reader="Ann")[before:]
    yield PLANTS.missing(reminded)
    yield SILENT.missing(stage.answers("Sales", reader="Ann"))


SITUATIONS = (
    Situation(
        "answers in the group that asked",
        "speaks in the right chat",
        _where_asked,
        Script({"Scout": [says("Paris.")]}),
        Script({"Scout": [lambda s: call("send_message", text="Paris.", chat_id=s.ids["Office"])]}),
    ),
    Situation(
        "passes a message on to another group",
        "speaks in the right chat",
        _told_elsewhere,
        Script(
            {
                "Scout": [
                    lambda s: call(
                        "send_message", text="The demo is at three.", chat_id=s.ids["Sales"]
                    )
                ]
            }
        ),
        Script({"Scout": [says("The demo is at three.")]}),
    ),
    Situation(
        "answers at home after reading elsewhere",
        "speaks in the right chat",
        _back_home,
        Script(
            {
                "Scout": [
                    lambda s: call("read_messages", chat_id=s.ids["Sales"]),
                    says("They ordered 40 chairs."),
                ]
            }
        ),
        Script(
            {
                "Scout": [
                    lambda s: call(
                        "send_message", text="They ordered 40 chairs.", chat_id=s.ids["Sales"]
                    )
                ]
            }
        ),
    ),
    Situation(
        "asks another agent by name",
        "speaks in the right chat",
        _other_agent,
        Script({"Scout": [says("@Ledger how high is the budget?")], "Ledger": [says("900.")]}),
        Script({"Scout": [says("The budget is 500.")]}),
    ),
    Situation(
        "keeps a promise by SMS",
        "speaks in the right chat",
        _plan_by_sms,
        Script(
            {
                "Coach": [
                    call(
                        "set_plan",
                        name="stretch",
                        instruction="Remind them to stretch.",
                        run_after="45 minutes",
                    ),
                    "I will.",
                    "Time to stretch!",
                ]
            }
        ),
        Script({"Coach": ["I will remind you."]}),
    ),
    Situation(
        "keeps a promise in a group",
        "speaks in the right chat",
        _plan_in_a_group,
        Script(
            {
                "Scout": [
                    [
                        call(
                            "set_plan",
                            name="plants",
                            instruction="Remind everyone in this chat to water the plants.",
                            run_after="1 hour",
                        ),
                        *says("I will."),
                    ],
                    says("Please water the plants."),
                ]
            }
        ),
        Script({"Scout": [says("I will remind you.")]}),
    ),
)
