"""The agent remembers across channels."""

from collections.abc import Iterator

from bench.eval.situation import (
    ANSWERS,
    Expected,
    Missing,
    Script,
    Situation,
    none_of,
    one_of,
    says,
)
from bench.eval.stage import HOUR, Stage

COACH = "You are Coach, a friendly coach. Answer in one or two short sentences."
PHONE = "+14155550102"
DOG = '{"journal": ["Dana has a dog called Rex."], "core": []}'
CITY = '{"journal": ["Dana moved from Munich to Berlin."], "core": []}'

NEWER = Expected(
    (
        one_of("berlin"),
        none_of("munich or", "or munich", "live in munich"),
    ),
    right=("Berlin.", "You moved from Munich to Berlin.", "In BERLIN, since this year."),
    wrong=("Munich or Berlin.", "You live in Munich; before, in Berlin.", "I do not know."),
)

REX = Expected(
    (one_of("rex"),),
    right=(
        "Rex.",
        "Your dog is called Rex!",
        "REX, of course.",
    ),
    wrong=(
        "Bello.",
        "You never told me.",
        "I do not know.",
    ),
)

NO_DOG = Expected(
    (
        ANSWERS,
        none_of("rex"),
    ),
    right=(
        "I do not know.",
        "Nobody has told me here.",
        "Ask Dana.",
    ),
    wrong=(
        "Rex.",
        "It is Rex, I think.",
        "Dana's dog? REX!",
    ),
)


def _dana(stage: Stage) -> None:
    stage.agent_on_line("Coach", COACH)
    stage.person("Dana")
    stage.link("Dana", PHONE)
    stage.direct("App", "Dana", "Coach")


def _sms_then_app(stage: Stage) -> Iterator[Missing]:
    _dana(stage)
    stage.sms(PHONE, "My dog is called Rex.")
    stage.turn(30 * HOUR)
    stage.say("Dana", "App", "What is my dog called?")
    yield REX.missing(stage.answers("App", reader="Dana"))


def _app_then_sms(stage: Stage) -> Iterator[Missing]:
    _dana(stage)
    stage.say("Dana", "App", "My dog is called Rex.")
    stage.turn(30 * HOUR)
    before = len(stage.received(PHONE))
    stage.sms(PHONE, "What is my dog called?")
    yield REX.missing(stage.received(PHONE)[before:])


def _same_chat_next_day(stage: Stage) -> Iterator[Missing]:
    _dana(stage)
    stage.sms(PHONE, "My dog is called Rex.")
    stage.turn(30 * HOUR)
    before = len(stage.received(PHONE))
    stage.sms(PHONE, "What is my dog called?")
    yield REX.missing(stage.received(PHONE)[before:])


def _newer_fact(stage: Stage) -> Iterator[Missing]:
    _dana(stage)
    stage.sms(PHONE, "I live in Munich.")
    stage.sms(PHONE, "No wait, that was last year. I moved to Berlin!")
    stage.turn(30 * HOUR)
    stage.say("Dana", "App", "Which city do I live in now?")
    said = stage.answers("App", reader="Dana")
    yield NEWER.missing(said)


def _group_knows_nothing(stage: Stage) -> Iterator[Missing]:
    _dana(stage)
    stage.person("Ann")
    stage.sms(PHONE, "My dog is called Rex.")
    stage.turn(30 * HOUR)
    stage.chat("Office", "Ann", "Dana", "Coach", respond="mention")
    stage.say("Ann", "Office", "@Coach what is Dana's dog called? Say so if you do not know.")
    said = stage.answers("Office", reader="Ann")
    yield NO_DOG.missing(said)


SITUATIONS = (
    Situation(
        "knows in the app what was said by SMS",
        "remembers across channels",
        _sms_then_app,
        Script({"Coach": ["Nice!", "Rex."]}, memories=(DOG,)),
        Script({"Coach": ["Nice!", "You never told me."]}, memories=(DOG,)),
    ),
    Situation(
        "knows by SMS what was said in the app",
        "remembers across channels",
        _app_then_sms,
        Script({"Coach": ["Nice!", "Rex."]}, memories=(DOG,)),
        Script({"Coach": ["Nice!", "You never told me."]}, memories=(DOG,)),
    ),
    Situation(
        "knows the next day what was said",
        "remembers across channels",
        _same_chat_next_day,
        Script({"Coach": ["Nice!", "Rex."]}, memories=(DOG,)),
        Script({"Coach": ["Nice!", "Bello."]}, memories=(DOG,)),
    ),
    Situation(
        "knows the newer of two facts",
        "remembers across channels",
        _newer_fact,
        Script({"Coach": ["I see.", "I see.", "Berlin."]}, memories=(CITY,)),
        Script({"Coach": ["I see.", "I see.", "Munich."]}, memories=(CITY,)),
    ),
    Situation(
        "does not bring a private chat's memories into a group",
        "remembers across channels",
        _group_knows_nothing,
        Script({"Coach": ["Nice!", says("I do not know.")]}, memories=(DOG,)),
        Script({"Coach": ["Nice!", says("Rex.")]}, memories=(DOG,)),
    ),
)
