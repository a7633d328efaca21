"""The local model's answers: whole sentences, two SMS at most, nothing that it cannot know."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.model.small_answer import (
    BE_KIND,
    CAN_DO,
    CANNOT_DO,
    CANNOT_KNOW,
    CANNOT_SAY,
    ENGLISH_ONLY,
    MAX_SEGMENTS,
    SEE_A_DOCTOR,
    TOOL_OFF,
    TOOL_UNUSED,
    emergency_rule,
    known_answer,
    refusal,
    shaped,
    wants_person,
)
from skein.channels.segments import segment_count
from skein.prompts import render


@pytest.mark.parametrize(
    ("text", "whole", "said"),
    [
        ("Walk a little. Then rest", False, "Walk a little."),
        ("Walk a little. Then rest", True, "Walk a little. Then rest."),
        ("Walk a little, then", False, CANNOT_SAY),
        ("Paris", True, "Paris."),
        ("Start with 10.", True, "Start with 10."),
        ("Use fruit, e.g. apples. Wash", False, "Use fruit, e.g. apples."),
        ("Rest. Rest. Rest.", True, "Rest."),
        ("One. Two. Three.", True, "One. Two."),
        ("Don\u2019t worry \u2013 breathe.", True, "Don't worry - breathe."),
        ("  Sit\n\ndown.  ", True, "Sit down."),
        ("", True, CANNOT_SAY),
    ],
)
def test_answer_ends_at_a_sentence(text: str, whole: bool, said: str) -> None:
    assert shaped(text, whole=whole, name="Coach") == said


def test_answer_stops_before_a_sentence_that_would_need_a_third_sms() -> None:
    first, second = "Walk " * 40 + "now.", "Run " * 40 + "now."
    assert shaped(f"{first} {second}", whole=True, name="Coach") == first.strip()
    assert shaped("Walk " * 80 + "now.", whole=True, name="Coach") == CANNOT_SAY


@given(st.text(max_size=800), st.booleans())
def test_answer_is_never_longer_than_two_sms(text: str, whole: bool) -> None:
    said = shaped(text, whole=whole, name="Coach")
    assert said
    assert segment_count(said) <= MAX_SEGMENTS


@pytest.mark.parametrize(
    "claim",
    [
        "It is 10:30 now.",
        "Come at 9 am.",
        "Your next training is soon.",
        "She said she was going to buy a car.",
        "Anna told me about it.",
        "I'll be here tomorrow.",
        "I will call you.",
        "Yes, we ship to France.",
        "I booked a table for you.",
        "I have sent it.",
        "Yes, I can.",
        "I can come to you.",
        "You told me so.",
        "My wife likes it.",
        "You can reach me at 902-348-7156.",
        "See https://example.com for more.",
        "I'm a doctor.",
        "I like fish.",
        "See you on Monday.",
        "We talked about it last week.",
        "She was sick.",
        "Maybe he's at home.",
        "I'm Anna.",
        "Hi, my name is Anna!",
        "This is Anna, your coach.",
    ],
)
def test_sentence_that_claims_knowledge_or_deeds_is_left_out(claim: str) -> None:
    assert shaped(claim, whole=True, name="Coach") == CANNOT_SAY
    assert shaped(f"Drink water. {claim}", whole=True, name="Coach") == "Drink water."


@pytest.mark.parametrize(
    "advice",
    [
        "Drink more when it is hot.",
        "I can help you with that.",
        "I can't tell.",
        "Start with a short run in the morning.",
        "You can do ten each day.",
        "I'm a computer program.",
        "You're welcome!",
        "I'm Coach.",
        "This is a good start.",
    ],
)
def test_advice_is_returned_unchanged(advice: str) -> None:
    assert shaped(advice, whole=True, name="Coach") == advice


@pytest.mark.parametrize("answer", [CANNOT_KNOW, CANNOT_SAY, ENGLISH_ONLY])
def test_fallback_answer_is_one_sentence_that_names_the_api_key(answer: str) -> None:
    assert "OPENAI_API_KEY" in answer
    assert len(re.findall(r"[.!?]", answer)) == 1
    assert segment_count(answer) == 1


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What time is it?", CANNOT_KNOW),
        ("What's the weather?", CANNOT_KNOW),
        ("When is my next training?", CANNOT_KNOW),
        ("When do we meet?", CANNOT_KNOW),
        ("What did my wife say to you yesterday?", CANNOT_KNOW),
        ("Has Anna answered?", CANNOT_KNOW),
        ("What is in the other chat?", CANNOT_KNOW),
        ("What are your plans?", CANNOT_KNOW),
        ("What is my name?", CANNOT_KNOW),
        ("Where do we meet, and why did Maya skip last week?", CANNOT_KNOW),
        ("Why did Maya skip last week?", CANNOT_KNOW),
        ("How is Maya?", CANNOT_KNOW),
        ("was she sick?", CANNOT_KNOW),
        ("My knee hurts after squats. What should I do?", SEE_A_DOCTOR),
        ("I have chest pain", SEE_A_DOCTOR),
        ("I ate a whole pizza and feel bad", BE_KIND),
        ("\u0643\u064a\u0641 \u0623\u0628\u062f\u0623\u061f", ENGLISH_ONLY),
        ("hi", "Hello! What can I do for you?"),
        ("Good morning, Coach!", "Hello! What can I do for you?"),
        ("Thanks, that helped!", "You're welcome! Write again any time."),
        ("Who are you?", "I'm Coach, a small computer program. Ask me something short!"),
        ("Hi! Who are you?", "I'm Coach, a small computer program. Ask me something short!"),
        (
            "Hello Coach, who is this?",
            "I'm Coach, a small computer program. Ask me something short!",
        ),
        (
            "Hey, what can you do?",
            CAN_DO,
        ),
    ],
)
def test_message_for_which_the_model_is_not_asked_gets_a_fixed_answer(
    question: str, answer: str
) -> None:
    assert known_answer(question, name="Coach") == answer
    assert known_answer(question, name="Mira") is None


@pytest.mark.parametrize(
    ("question", "tool"),
    [
        ("Remind me at nine", "set_plan"),
        ("Can you remind me on Monday at 9?", "set_plan"),
        ("I want to speak to a human", "ask_a_person"),
        ("tell him that I am late", "ask_someone"),
        ("Can you book a gym for me tomorrow at 6?", None),
        ("Please call my doctor", None),
    ],
)
def test_refusal_names_the_tool_that_is_off(question: str, tool: str | None) -> None:
    off = TOOL_OFF.format(tool=tool) if tool else CANNOT_DO
    on = TOOL_UNUSED.format(tool=tool) if tool else CANNOT_DO
    assert refusal(question, ()) == off
    assert refusal(question, (tool or "",)) == on
    assert "OPENAI_API_KEY" not in off + on


@pytest.mark.parametrize(
    ("character", "rule"),
    [
        ("You are Mira. If it is an emergency, say: call 112. Be short.", "call 112"),
        ("You are Mira. Be short.", None),
    ],
)
def test_rule_of_the_agent_answers_an_emergency(character: str, rule: str | None) -> None:
    said = emergency_rule("I have chest pain", character)
    assert (rule in said) if rule and said else said is rule
    assert emergency_rule("Are you open on Sunday?", character) is None


@pytest.mark.parametrize(
    "question",
    [
        "What is a good exercise for my back?",
        "How many push-ups should I do?",
        "Should I stretch before I run?",
        "When should I eat before a run?",
        "What is the capital of France?",
        "Who wrote Hamlet?",
        "How do I start running?",
        "Is it bad to feel tired?",
        "2 + 2?",
        "Hi! How do I boil an egg?",
        "Thanks. And for my legs?",
        "What should I do when Monday is cold?",
    ],
)
def test_question_that_the_model_may_answer_has_no_fixed_answer(question: str) -> None:
    assert known_answer(question, name="Coach") is None
    assert refusal(question, ()) is None


def test_examples_of_the_prompt_have_no_names() -> None:
    examples = render("local_model", {"character": "", "name": "Coach", "conversation": ""})
    lines = [line.partition(": ")[2] for line in examples.splitlines()]
    inner = [word for line in lines for word in re.findall(r"(?<![.!?] )(?<!^)\b[A-Z]\w*", line)]
    assert set(inner) == {"I"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I want to talk to a human", True),
        ("Can I talk to someone from your team?", True),
        ("I'd like to speak with a real person, please.", True),
        ("human please", True),
        ("I need a person!", True),
        ("Get me an operator", True),
        ("Are you a human?", False),
        ("I want to talk to my coach", False),
        ("I talked to a person yesterday", False),
        ("I need someone to run with", False),
    ],
)
def test_request_for_a_person_is_understood(text: str, *, wanted: bool) -> None:
    assert wants_person(text) == wanted
