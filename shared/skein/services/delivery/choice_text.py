"""The SMS of a choice: the question with the code of each answer.

Only this text shows the codes. The message of the choice, which appears in prompts, clients and the
console, does not contain the codes.
"""

from skein.channels.plain_text import plain_text
from skein.models.chats.choice import QUESTION, SEE, Choice
from skein.models.chats.person_choices import OpenChoice

IN_WORDS = "Reply {code} and your answer."
TO_SEE = "Reply {code} to see who. STOP ends texts."


def choice_text(choice: Choice, listed: OpenChoice) -> str:
    """Return the text of a choice's SMS.

    The question of an agent is shown without Markdown. Skein's own questions are not changed,
    because they show text exactly as it will be posted.

    Args:
        choice: The choice, as in its message.
        listed: The entry in the person's open choices, with the codes of this choice.
    """
    if SEE in listed.codes:
        return f"{choice.question} {TO_SEE.format(code=listed.codes[SEE])}"
    agents_own = choice.purpose == QUESTION
    question = plain_text(choice.question) if agents_own else choice.question
    answers = [
        f"{option.label}: reply {listed.codes[option.id]}."
        for option in choice.options
        if option.id in listed.codes
    ] or [IN_WORDS.format(code=code) for code in listed.codes.values()]
    inline = not choice.options and question.endswith((".", "?", "!", '"'))
    return f"{question}{' ' if inline else chr(10)}{' '.join(answers)}"
