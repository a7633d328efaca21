"""The agent knows who asked."""

from collections.abc import Iterator

from bench.eval.situation import Expected, Missing, Script, Situation, none_of, one_of, says
from bench.eval.situations.sms import SPIDER
from bench.eval.stage import MINUTE, Stage

SCOUT = "You are Scout, an assistant of a small team. Answer in one or two short sentences."
LEDGER = "You are Ledger, who keeps the budget of a small team. Answer in one short sentence."

LEAP_YEAR = Expected(
    (one_of("366", "three hundred sixty-six", "three hundred and sixty-six"),),
    right=("366.", "Ann: 366 days. Ben: eight legs.", "Three hundred sixty-six."),
    wrong=("365.", "A spider has eight legs.", "3660 days."),
)
NO_MEAT = Expected(
    (
        one_of("no", "n't", "vegetarian"),
        none_of("yes", "love steak", "do not know", "don't know"),
    ),
    right=("No.", "You don't: you are a vegetarian.", "No, Nina, you eat no meat."),
    wrong=("Yes.", "Yes, you love steak.", "I do not know."),
)

SLEEP = Expected(
    (
        one_of("sleep", "slept"),
        none_of("knee"),
    ),
    right=(
        "You slept badly.",
        "About your sleep.",
        "That you had slept badly last night.",
    ),
    wrong=(
        "Your knee hurts.",
        "Your knee, and your sleep.",
        "Nothing.",
    ),
)

TEA = Expected(
    (
        one_of("tea"),
        none_of("coffee"),
    ),
    right=(
        "A cup of tea.",
        "Tea.",
        "I would bring you tea, Ann.",
    ),
    wrong=(
        "Coffee.",
        "Tea or coffee.",
        "Milk.",
    ),
)

CLEO = Expected(
    (
        one_of("cleo"),
        none_of("ben"),
    ),
    right=(
        "Cleo",
        "It was Cleo.",
        "Cleo mentioned it first.",
    ),
    wrong=(
        "Ben",
        "Cleo or Ben.",
        "Ann",
    ),
)

LEDGER_WROTE = Expected(
    (
        one_of("ledger"),
        none_of("ann"),
    ),
    right=(
        "Ledger",
        "It was Ledger.",
        "Ledger (agent)",
    ),
    wrong=(
        "Ann",
        "Scout",
        "Ann, after Ledger.",
    ),
)


def _group(stage: Stage, *people: str) -> None:
    stage.agent("Scout", SCOUT)
    stage.office("Scout", *people)


def _own_complaint(stage: Stage) -> Iterator[Missing]:
    _group(stage, "Ann", "Ben")
    stage.say("Ann", "Office", "My knee hurts since yesterday.", wait=False)
    stage.say("Ben", "Office", "I slept badly last night.", wait=False)
    stage.say("Ben", "Office", "@Scout what did I complain about a minute ago?")
    said = stage.answers("Office", reader="Ann")
    yield SLEEP.missing(said)


def _two_anns(stage: Stage) -> Iterator[Missing]:
    stage.agent("Scout", SCOUT)
    stage.person("Ann")
    stage.person("other Ann", known_as="Ann")
    stage.chat("Office", "Ann", "other Ann", "Scout", respond="mention")
    stage.say("Ann", "Office", "I only drink tea.", wait=False)
    stage.say("other Ann", "Office", "I only drink coffee.", wait=False)
    stage.say("Ann", "Office", "@Scout what should you bring me to drink?")
    said = stage.answers("Office", reader="Ann")
    yield TEA.missing(said)


def _renamed(stage: Stage) -> Iterator[Missing]:
    _group(stage, "Ann", "Ben")
    stage.say("Ann", "Office", "I am a vegetarian.", wait=False)
    stage.say("Ben", "Office", "I love steak.", wait=False)
    stage.admin("PATCH", f"/v1/users/{stage.ids['Ann']}", {"name": "Nina"})
    stage.turn(2 * MINUTE)  # the upkeep of names
    stage.say("Ann", "Office", "@Scout do I eat meat? Answer yes or no.")
    yield NO_MEAT.missing(stage.answers("Office", reader="Ann"))


def _first_to_mention(stage: Stage) -> Iterator[Missing]:
    _group(stage, "Ann", "Ben", "Cleo")
    stage.say("Cleo", "Office", "The deadline is on Friday.", wait=False)
    stage.say("Ann", "Office", "Then we should start.", wait=False)
    stage.say("Ben", "Office", "The deadline is tight.", wait=False)
    stage.say("Ann", "Office", "@Scout who was the first to mention the deadline? Only the name.")
    said = stage.answers("Office", reader="Ann")
    yield CLEO.missing(said)


def _both_questions(stage: Stage) -> Iterator[Missing]:
    _group(stage, "Ann", "Ben")
    stage.say("Ann", "Office", "@Scout how many days has a leap year?", wait=False)
    stage.say("Ben", "Office", "@Scout how many legs has a spider?")
    said = stage.answers("Office", reader="Ann")
    yield LEAP_YEAR.missing(said)
    yield SPIDER.missing(said)


def _agents_words(stage: Stage) -> Iterator[Missing]:
    _group(stage, "Ann")
    stage.agent("Ledger", LEDGER)
    stage.chat("Money", "Ann", "Scout", "Ledger", respond="mention")
    stage.say("Ann", "Money", "@Ledger the budget is 900. Say it back to us.")
    stage.say("Ann", "Money", "@Scout who of us wrote last before this message? Only the name.")
    said = stage.answers("Money", reader="Ann", agent="Scout")
    yield LEDGER_WROTE.missing(said)


SITUATIONS = (
    Situation(
        "tells two people's complaints apart",
        "knows who asked",
        _own_complaint,
        Script({"Scout": [says("You slept badly.")]}),
        Script({"Scout": [says("Your knee hurts.")]}),
    ),
    Situation(
        "tells two people with the same name apart",
        "knows who asked",
        _two_anns,
        Script({"Scout": [says("A cup of tea.")]}),
        Script({"Scout": [says("A cup of coffee.")]}),
    ),
    Situation(
        "knows a person who was renamed",
        "knows who asked",
        _renamed,
        Script({"Scout": [says("No, you are a vegetarian.")]}),
        Script({"Scout": [says("Yes, you love steak.")]}),
    ),
    Situation(
        "knows who said something first",
        "knows who asked",
        _first_to_mention,
        Script({"Scout": [says("Cleo")]}),
        Script({"Scout": [says("Ben")]}),
    ),
    Situation(
        "answers two people who ask at once",
        "knows who asked",
        _both_questions,
        Script({"Scout": [says("Ann: 366 days. Ben: eight legs.")]}),
        Script({"Scout": [says("A leap year has 366 days.")]}),
    ),
    Situation(
        "knows what another agent wrote",
        "knows who asked",
        _agents_words,
        Script({"Ledger": [says("The budget is 900.")], "Scout": [says("Ledger")]}),
        Script({"Ledger": [says("The budget is 900.")], "Scout": [says("Ann")]}),
    ),
)
