"""The agent stays silent when nobody needs an answer."""

from collections.abc import Iterator

from bench.eval.situation import (
    SILENT,
    Expected,
    Missing,
    Script,
    Situation,
    call,
    one_of,
    says,
    unless,
)
from bench.eval.situations.told_in_groups import BUDGET
from bench.eval.stage import Stage

SCOUT = (
    "You are Scout, an assistant of a small team. Speak only if somebody asks you, or if you know "
    "something that nobody has said."
)
EAGER = "You are Scout, an assistant of a small team. Answer every question that you can answer."
LEDGER = "You are Ledger, who keeps the budget of a small team: 900. Speak only if you are asked."
COACH = "You are Coach, a running coach. Answer in one or two short sentences."

FIVE = Expected(
    (one_of("5", "five"),),
    right=("5 km.", "Five kilometers.", "You ran 5 km today."),
    wrong=("I do not know.", "15 km.", "You did not say."),
)

ROME = Expected(
    (one_of("rome", "roma"),),
    right=("Rome.", "The capital of Italy is Rome.", "It's Roma!"),
    wrong=("Milan.", "I stay silent.", "Ask Ben."),
)


def _group(stage: Stage) -> None:
    stage.agent("Scout", SCOUT)
    stage.office("Scout", "Ann", "Ben", respond="every")


def _small_talk(stage: Stage) -> Iterator[Missing]:
    _group(stage)
    stage.say("Ann", "Office", "Ben, shall we have lunch together?")
    stage.say("Ben", "Office", "Sure, see you at noon.")
    yield SILENT.missing(stage.answers("Office", reader="Ann"))


def _asked_to_be_quiet(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", EAGER)
    stage.office("Scout", "Ann", "Ben", respond="every")
    stage.say("Ann", "Office", "Scout, please stay silent until I call you by name.")
    before = len(stage.answers("Office", reader="Ann"))
    stage.say("Ben", "Office", "I wonder what the capital of Italy is.")
    yield SILENT.missing(stage.answers("Office", reader="Ann")[before:])
    stage.say("Ann", "Office", "Scout, what is the capital of Italy?")
    yield ROME.missing(stage.answers("Office", reader="Ann"))


def _other_agent_asked(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.agent("Ledger", LEDGER)
    stage.person("Ann")
    stage.chat("Office", "Ann", "Scout", "Ledger")
    stage.say("Ann", "Office", "Ledger, how high is the budget?")
    yield SILENT.missing(stage.answers("Office", reader="Ann", agent="Scout"))
    yield BUDGET.missing(stage.answers("Office", reader="Ann", agent="Ledger"))


def _thanks_in_a_group(stage: Stage) -> Iterator[Missing]:
    _group(stage)
    stage.say("Ann", "Office", "Scout, what is two plus two?")
    before = len(stage.answers("Office", reader="Ann"))
    yield unless(before == 1, "answers the question")
    stage.say("Ben", "Office", "Ann, I will be late tomorrow.")
    yield SILENT.missing(stage.answers("Office", reader="Ann")[before:])


def _no_answer_wanted(stage: Stage) -> Iterator[Missing]:
    stage.agent("Coach", COACH)
    stage.person("Ann")
    stage.direct("Running", "Ann", "Coach")
    stage.say("Ann", "Running", "Note for later, please do not answer this: I ran 5 km today.")
    yield SILENT.missing(stage.answers("Running", reader="Ann"))
    stage.say("Ann", "Running", "How far did I run today?")
    yield FIVE.missing(stage.answers("Running", reader="Ann"))


SITUATIONS = (
    Situation(
        "keeps out of small talk",
        "stays silent",
        _small_talk,
        Script(),
        Script({"Scout": [says("Enjoy your lunch!")]}),
    ),
    Situation(
        "is silent until called",
        "stays silent",
        _asked_to_be_quiet,
        Script({"Scout": [call("end_run"), call("end_run"), says("Rome.")]}),
        Script({"Scout": [says("I will."), says("Rome!")]}),
    ),
    Situation(
        "leaves a question to the agent that was asked",
        "stays silent",
        _other_agent_asked,
        Script({"Ledger": [says("The budget is 900.")]}),
        Script({"Ledger": [says("The budget is 900.")], "Scout": [says("I do not know.")]}),
    ),
    Situation(
        "is silent again after its answer",
        "stays silent",
        _thanks_in_a_group,
        Script({"Scout": [says("Four.")]}),
        Script({"Scout": [says("Four."), says("Thank you, Ben.")]}),
    ),
    Situation(
        "does not answer a note in a direct chat",
        "stays silent",
        _no_answer_wanted,
        Script({"Coach": ["[silence]", FIVE.right[0]]}),
        Script({"Coach": ["Well done!", FIVE.wrong[0]]}),
    ),
)
