"""The agent writes an SMS as people do."""

from collections.abc import Iterator

from bench.eval.situation import (
    ANSWERS,
    Expected,
    Missing,
    Script,
    Situation,
    none_of,
    one_of,
    unless,
)
from bench.eval.stage import REASON, Stage
from skein.trials.models.expectation import AtMost, Expectation

COACH = "You are Coach, a friendly coach who knows a lot about food and sports."
PHONE = "+14155550104"
MAX_CHARACTERS = 480  # the default length of an answer by SMS
MOST_UNITS = 4  # of an SMS of this length
SHORT_DAY = "Oats in the morning, soup at noon and fish in the evening."

GERMAN = Expected(
    (
        one_of("minuten", "etwa", "ungef", "wasser", "koch", "bis", "sind", "vier", "fünf"),
        none_of("about", "minutes", "water", "boil", "of them"),
    ),
    right=("Etwa 5 bis 6 Min. in siedendem Wasser.", "Vier Minuten.", "5 Min. sind genug."),
    wrong=("About four of them.", "5 minutes.", "Boil it for four."),
)

MEALS = Expected(
    (
        one_of("morning", "breakfast", "7:00", "7:30", "8:00"),
        one_of("noon", "lunch"),
        one_of("evening", "dinner", "supper", "night"),
    ),
    right=(
        "Oats in the morning, soup at noon and fish in the evening.",
        "Breakfast: eggs. Lunch: rice. Dinner: beans.",
        "7:30 oats, at lunch a salad, for supper bread.",
    ),
    wrong=("Eat well every day.", "Oats in the morning.", "Dinner: fish."),
)
PLAIN = Expected(
    (
        ANSWERS,
        none_of("*", "#", "`", "]("),
    ),
    right=(
        "Oats in the morning, soup at noon.",
        "Morning: oats\nNoon: soup",
        "1. Oats 2. Soup 3. Fish",
    ),
    wrong=("**Morning**: oats.", "# Plan\nOats", "Eat:\n* oats"),
)
SPIDER = Expected(
    (one_of("8", "eight"),),
    right=("Eight.", "A spider has 8, a bee 6.", "Spiders walk on eight legs."),
    wrong=("A bee has six.", "Ten.", "80 legs."),
)
BEE = Expected(
    (one_of("6", "six"),),
    right=("A bee has six.", "Bees: 6 legs.", "Eight and 6."),
    wrong=("A spider has eight.", "Ten.", "60 legs."),
)


def _short(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "Explain to me everything about healthy food.")
    said = stage.received(PHONE)
    yield unless(len(said) == 1, "answers with one SMS")
    yield unless(sum(map(len, said)) <= MAX_CHARACTERS, "is short")


def _plain(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "Write a plan of three meals for one day.")
    said = stage.received(PHONE)
    yield MEALS.missing(said)
    [model_text] = [
        step["text"]
        for run in stage.admin("GET", f"/v1/agents/{stage.ids['Coach']}/runs")["items"]
        for step in stage.admin("GET", f"/v1/runs/{run['id']}?reason={REASON}")["steps"]
    ][-1:]
    yield PLAIN.missing([model_text])


def _language(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "Wie viele Minuten muss ein weiches Ei kochen?")
    said = stage.received(PHONE)
    yield GERMAN.missing(said)


def _two_texts(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "How many legs has a spider?", wait=False)
    stage.sms(PHONE, "And how many has a bee?")
    said = stage.received(PHONE)
    yield unless(len(said) == 1, "answers once")
    yield SPIDER.missing(said)
    yield BEE.missing(said)


SITUATIONS = (
    Situation(
        "answers in a short SMS",
        "writes an SMS",
        _short,
        Script({"Coach": ["Eat vegetables, beans and nuts, and little sugar."]}),
        Script({"Coach": ["Eat vegetables every day. " * 30]}),
        (Expectation(at_most=AtMost(sms_units=MOST_UNITS)),),
    ),
    Situation(
        "writes plain text",
        "writes an SMS",
        _plain,
        Script({"Coach": [SHORT_DAY]}),
        Script({"Coach": ["**Morning**: oats. **Noon**: soup. **Evening**: fish."]}),
        PLAIN.expect,
    ),
    Situation(
        "answers in the language of the question",
        "writes an SMS",
        _language,
        Script({"Coach": ["Etwa vier Minuten."]}),
        Script({"Coach": ["About four of them."]}),
    ),
    Situation(
        "answers two texts with one",
        "writes an SMS",
        _two_texts,
        Script({"Coach": ["A spider has eight legs, a bee has six."]}),
        Script({"Coach": ["A bee has six."]}),
    ),
)
