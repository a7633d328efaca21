"""Decide whether someone expects an answer from a run in its chat."""

from skein.agent.sections.trigger import ShownTrigger
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.models.chats.chat import Chat, Message
from skein.models.common.base import MemberRef
from skein.models.runs.run import Run
from skein.services.runs.wakeups import mentions

PAIR = 2  # members of a group that is a conversation of two


def answer_expected(run: Run, home: Chat | None, reading: Reading) -> bool:
    """Return whether someone expects this agent to answer in the run's own chat.

    An answer is always expected in a direct chat and in a group of two. In a larger group, an
    answer is expected in three cases: a message to answer names the agent or replies to it, the run
    has received a reply to its question, or a person requested the run.

    Args:
        home: The run's own chat; None if the run has no chat.
        reading: The data from which the prompt is built.
    """
    if home is None or run.own_chat_id != home.id:
        return False
    if home.kind == "direct" or len(home.roster) <= PAIR:
        return True
    if run.trigger.type == "manual" or (run.resumed is not None and run.resumed.seq is not None):
        return True
    return any(_addresses(message, run, reading) for message in _to_answer(run, home, reading))


def _to_answer(run: Run, home: Chat, reading: Reading) -> list[Message]:
    """Return the messages that triggered the run, as far as they were read."""
    shown = reading.of(History).messages if reading.shows(home.id) else ()
    found = {one.seq: one for one in shown}
    message = reading.of(ShownTrigger).message
    if message is not None:
        found[message.seq] = message
    return [message for seq, message in found.items() if seq in run.trigger.seqs]


def _addresses(message: Message, run: Run, reading: Reading) -> bool:
    """Return whether a message names the agent, or replies to one of its messages."""
    if mentions(message.text, {reading.agent.name.casefold()}):
        return True
    agent = MemberRef(kind="agent", id=run.agent_id)
    own_seqs = {one.seq for one in reading.of(History).messages if one.sender.ref == agent}
    return message.reply_to is not None and message.reply_to in own_seqs
