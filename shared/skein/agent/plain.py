"""Which sections stand in a prompt that is made from less than a whole reading."""

from collections.abc import Sequence

from skein.agent.reading import Reading
from skein.agent.section import Section
from skein.agent.trigger_reading import current_seq
from skein.models.run import Run

UNAVAILABLE = frozenset({"IDENTITY", "INSTRUCTIONS", "NOW"})


def kept(sections: Sequence[Section], run: Run, reading: Reading) -> list[Section]:
    """Those of the sections that stand in the prompt of a reading, the history apart.

    All of a whole reading's. Where the current message must do, who the agent is, how it answers
    and the time; and, without such a message, what the trigger says.
    """
    if reading.mark is None:
        return list(sections)
    trigger = {"TRIGGER"} if current_seq(run, reading.chat) is None else set()
    return [section for section in sections if section.name in UNAVAILABLE | trigger]
