"""How a person who asks to start anew is answered: by fixed words, as a step like any other.

So it is an ordinary run that is claimed, recorded, said and ended, each once, and that operators
see. Only the model is not asked.
"""

from datetime import datetime

from skein.agent.reading.reader import Reading
from skein.agent.reading.trigger import current_seq
from skein.models.completion import TokenUsage
from skein.models.run import Run, Shown
from skein.models.step import FIXED_ANSWER, PromptRecord, Step
from skein.prompts import render

NO_PROMPT = PromptRecord(sections=(), total_tokens=0, marks=("answered_without_model",))


def asked_anew(run: Run, reading: Reading) -> Shown | None:
    """What a run sees that is to answer a wish to start anew; None if it is to answer another."""
    if reading.chat is None or reading.chat.id != run.chat_id:
        return None
    seq = current_seq(run, reading.chat)
    if seq is None or not any(one.seq == seq and one.resets for one in reading.messages):
        return None
    return Shown(chat_id=reading.chat.id, seq=seq)


def fixed_step(run: Run, now: datetime) -> Step:
    """The answer, with the record that there was no prompt."""
    return Step(
        tenant=run.tenant,
        run_id=run.id,
        n=run.steps_taken + 1,
        activation=run.activation,
        model=FIXED_ANSWER,
        text=render("session_reset"),
        usage=TokenUsage(),
        prompt=NO_PROMPT.packed(),
        started_at=now,
        ended_at=now,
    )
