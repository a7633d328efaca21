"""The agent lets go of the earlier session after a reset."""

from collections.abc import Iterator

from bench.eval.situation import ANSWERS, Expected, Missing, Script, Situation, none_of, one_of
from bench.eval.stage import Stage

COACH = "You are Coach, a friendly coach. Answer in one or two short sentences."
PHONE = "+14155550103"

EGG = Expected(
    (
        one_of("minutes", "6", "7", "8", "10"),
        none_of("marathon", "running", "your run", "as for a run"),
    ),
    right=(
        "6 minutes for a runny yolk.",
        "About eight minutes.",
        "Ten, if you like it hard: 10.",
        "Boil it for 8 minutes, then run it under cold water.",
    ),
    wrong=("Eight minutes, then back to your marathon.", "7, as for a run.", "I do not know."),
)

NO_SHOULDER = Expected(
    (
        ANSWERS,
        none_of("shoulder"),
    ),
    right=(
        "We have just started.",
        "I do not know.",
        "Let us begin afresh.",
    ),
    wrong=(
        "Your shoulder.",
        "Your sore shoulder, I think.",
        "We spoke of a SHOULDER.",
    ),
)

BADMINTON = Expected(
    (
        one_of("badminton"),
        none_of("rowing", "rower"),
    ),
    right=("Badminton.", "That is badminton!", "A shuttlecock is used in badminton."),
    wrong=("Rowing.", "Badminton, which is not like rowing.", "Tennis."),
)


def _nothing_from_before(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "I want to talk about my sore shoulder.")
    stage.sms(PHONE, "Start over!")
    before = len(stage.received(PHONE))
    stage.sms(PHONE, "What was I talking about before?")
    said = stage.received(PHONE)[before:]
    yield NO_SHOULDER.missing(said)


def _new_subject(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "My goal is to run a marathon.")
    stage.sms(PHONE, "New topic")
    before = len(stage.received(PHONE))
    stage.sms(PHONE, "How many minutes should I boil an egg?")
    said = stage.received(PHONE)[before:]
    yield EGG.missing(said)


def _question_after_reset(stage: Stage) -> Iterator[Missing]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "I like rowing.")
    stage.sms(PHONE, "Reset", wait=False)
    stage.sms(PHONE, "Which sport uses a shuttlecock?")
    yield BADMINTON.missing(stage.received(PHONE)[1:])


SITUATIONS = (
    Situation(
        "knows nothing from before a reset",
        "honours a reset",
        _nothing_from_before,
        Script({"Coach": ["Tell me more.", "We have just started."]}),
        Script({"Coach": ["Tell me more.", "Your shoulder."]}),
    ),
    Situation(
        "does not return to the subject from before a reset",
        "honours a reset",
        _new_subject,
        Script({"Coach": ["Great!", "About eight minutes."]}),
        Script({"Coach": ["Great!", "Eight minutes, then back to your marathon."]}),
    ),
    Situation(
        "answers a question that comes with a reset",
        "honours a reset",
        _question_after_reset,
        Script({"Coach": ["Nice!", "Badminton."]}),
        Script({"Coach": ["Nice!", "Rowing."]}),
    ),
)
