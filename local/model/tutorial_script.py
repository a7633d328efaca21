"""The answers of the tutorial's agent, which are the same with and without a model's API key.

The small local model is not good enough for the tutorial: it calls no tools and mixes up facts. So
the agent of docs/tutorial.md has scripted answers to the messages on that page, like the agent of
the recorded day. An agent with another name or another system prompt never gives these answers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

NO_REPLY = "[silence]"
NAME = "Pace"
SYSTEM_PROMPT = "You are Pace, a running coach. Answer in one or two short sentences."
# The agent's answers, by the message or by the instruction of the plan that is due.
ANSWERS: Mapping[str, str] = {
    "I am Maya. I want to run 10 km in spring. My knee hurts, but tell nobody.": (
        "Let us start slowly. Your knee stays between us."
    ),
    "Where do we meet, and why did Maya skip last week?": (
        "At the lake at 9. Ask Maya about last week."
    ),
    "I come ten minutes late.": NO_REPLY,
    "Hello, coach.": "Hello, Emma!",
    "My race in Utrecht is on 9 May.": "Good luck!",
    "I failed my maths exam in Utrecht.": "That happens to many.",
    "What does Emma do in Utrecht?": "She runs there on 9 May.",
    "Ask Maya how her training goes.": "How was your training, Maya?",
}
TO_GROUP = "Tell our group that I come ten minutes late."
GROUP = re.compile(r'"Our run" \(id: (?P<chat>chat_\w+)\)')
TO_BEN = "Ask Ben whether he brings water."


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call that the script makes in place of an answer."""

    tool: str
    arguments: Mapping[str, str]


def scripted(asked: str, *, name: str, character: str, prompt: str) -> str | ScriptedCall | None:
    """Return the scripted answer of the tutorial's agent.

    It answers a message, or the instruction of a plan that has come due.

    Args:
        asked: The message or the instruction.
        name: The name of the agent.
        character: The agent's system prompt, on one line.
        prompt: The text of the whole request, which lists the agent's chats.

    Returns:
        The answer or the tool call; None for other messages, and for every other agent.
    """
    if (name, character) != (NAME, SYSTEM_PROMPT):
        return None
    if asked == TO_GROUP and (group := GROUP.search(prompt)):
        told = {"chat_id": group["chat"], "text": "I come ten minutes late."}
        return ScriptedCall("send_message", told)
    if asked == TO_BEN:
        question = {"person": "Ben", "question": "Do you bring water?", "until": "1 day"}
        return ScriptedCall("ask_someone", question)
    return ANSWERS.get(asked)
