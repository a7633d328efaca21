"""OUTREACH: the message that the agent wrote to the person of this chat for an operator."""

from datetime import timedelta

from skein.interface.section import Section, SectionInput, around
from skein.prompts import render
from skein.services.common.quoting import minute_of, quoted

SHOWN_FOR = timedelta(days=14)


def outreach(given: SectionInput) -> Section | None:
    """Render the newest outreach of a direct chat; None without one.

    None is also returned in the run that writes the message of the outreach. The outreach is stored
    only in the chat itself, so prompts of other chats cannot show it.
    """
    chat, now = given.reading.chat, given.reading.now
    known = chat.contact_order if chat is not None else None
    if chat is None or known is None or now > known.at + SHOWN_FOR:
        return None
    reset_at = chat.session.reset_at if chat.session is not None else None
    if reset_at is not None and known.at < reset_at:
        return None
    plan = given.run.trigger.plan
    if plan is not None and plan.id == known.id:
        return None
    words = known.instruction if known.instruction is not None else known.text or ""
    how = "about" if known.instruction is not None else "with the text"
    asker = quoted(known.asker)
    head = render("outreach", {"at": minute_of(known.at), "asker": asker, "how": how})

    def frame(shown: str) -> str:
        return f"OUTREACH: {head} {quoted(shown)}"

    return around("OUTREACH", words, frame, given.counter)
