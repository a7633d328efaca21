"""The agent honours a reset."""

from collections.abc import Iterator

from bench.eval.situation import Check, Goal, Script, Situation
from bench.eval.stage import Stage

COACH = "You are Coach, a friendly coach. Answer in one or two short sentences."
PHONE = "+14155550103"

EGG = Goal(
    "answers, and does not return to the marathon",
    r"\d|minutes",
    r"\bmarathon|\brunning\b|\b(a|the|your) run\b",
    right=(
        "6 minutes for a runny yolk.",
        "About eight minutes.",
        "Ten, if you like it hard: 10.",
        "Boil it for 8 minutes, then run it under cold water.",
    ),
    wrong=("Eight minutes, then back to your marathon.", "7, as for a run.", "I do not know."),
)

NO_SHOULDER = Goal(
    "does not name the shoulder",
    r"\w",
    r"shoulder",
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

BADMINTON = Goal(
    "answers the question, and does not name rowing",
    r"\bbadminton\b",
    r"\brow(ing|er)?\b",
    right=("Badminton.", "That is badminton!", "A shuttlecock is used in badminton."),
    wrong=("Rowing.", "Badminton, which is not like rowing.", "Tennis."),
)


def _nothing_from_before(stage: Stage) -> Iterator[Check]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "I want to talk about my sore shoulder.")
    stage.sms(PHONE, "Start over!")
    before = len(stage.received(PHONE))
    stage.sms(PHONE, "What was I talking about before?")
    said = stage.received(PHONE)[before:]
    yield NO_SHOULDER.of(said)


def _new_subject(stage: Stage) -> Iterator[Check]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "My goal is to run a marathon.")
    stage.sms(PHONE, "New topic")
    before = len(stage.received(PHONE))
    stage.sms(PHONE, "How many minutes should I boil an egg?")
    said = stage.received(PHONE)[before:]
    yield EGG.of(said)


def _question_after_reset(stage: Stage) -> Iterator[Check]:
    stage.agent_on_line("Coach", COACH)
    stage.sms(PHONE, "I like rowing.")
    stage.sms(PHONE, "Reset", wait=False)
    stage.sms(PHONE, "Which sport uses a shuttlecock?")
    yield BADMINTON.of(stage.received(PHONE)[1:])


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
