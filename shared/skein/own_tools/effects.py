"""The effect of an answer to the question whether a tool may be called."""

from typing import ClassVar

from skein.services.choices.effect import AnswerEffect


class CallEffect(AnswerEffect):
    """The answer triggers the agent; after a yes, its run makes the call (`asking.py`)."""

    triggers_agent: ClassVar[bool] = True
    is_consent: ClassVar[bool] = True
