"""What an agent says without a tool: the text with which its run ends."""

from skein.agent.prompt.builder import Manner
from skein.agent.reading.reader import Reading
from skein.models.chat import MAX_TEXT
from skein.models.step import FIXED_ANSWER, Step
from skein.services.chats.post_message import NewMessage
from skein.services.runs.claim import Claim

SILENCE = "[silence]"


def last_words(claim: Claim, step: Step, reading: Reading) -> NewMessage | None:
    """What is to be posted of a model's last text, in the chat that its prompt showed.

    None where the agent chose silence, or speaks by its tools alone.
    """
    text = step.text.strip()
    if not text or text.casefold() == SILENCE or reading.chat is None:
        return None
    speaks = Manner.of(reading.agent, reading.chat).reply_mode == "text"
    if not speaks and step.model != FIXED_ANSWER:
        return None
    return NewMessage(
        tenant=claim.run.tenant,
        chat_id=reading.chat.id,
        sender=claim.agent,
        text=text[:MAX_TEXT],
        client_id=f"{claim.run.id}:{step.n}",
        depth=claim.run.chain_depth + 1,
        run_id=claim.run.id,
        traced_to=claim.run.trigger.user_id,
    )
