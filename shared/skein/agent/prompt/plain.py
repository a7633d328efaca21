"""Which sections stand in a prompt that is made from less than a whole reading."""

from collections.abc import Sequence

from skein.agent.prompt.section import Section
from skein.agent.reading.reader import Reading
from skein.agent.reading.trigger import current_seq
from skein.models.run import Run

PLAIN = frozenset({"IDENTITY", "INSTRUCTIONS"})


def kept(sections: Sequence[Section], run: Run, reading: Reading) -> list[Section]:
    """Those of the sections that stand in the prompt of a reading, the history apart.

    All of a whole reading's. Without context, who the agent is and how it answers. Where a context
    could not be read, the time, too; and, without a current message, what the trigger says.
    """
    if reading.mark is None:
        return list(sections)
    names = set(PLAIN)
    if reading.mark == "context_unavailable":
        names |= {"NOW"} if current_seq(run, reading.chat) is not None else {"NOW", "TRIGGER"}
    return [section for section in sections if section.name in names]
