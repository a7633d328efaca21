"""Decide where a run may post, inside each transaction that posts.

The rules are in docs/security.md, "Where an agent may post".

An activation holds the content that it was shown: its prompt and the results of its tools.
`Run.held` records the audience of all that content. The checks of this module compare this audience
with the destination's readers.
"""

from skein.errors import Forbidden, NotFound, ReadersChanged
from skein.models.chats.chat import Chat
from skein.models.common.reason import Reason
from skein.models.runs.run import HeldContent, Run
from skein.models.visibility.audience import Audience, may_show
from skein.services.visibility.insiders import chats_of_insiders

PRIVATE_ELSEWHERE = (
    "refused: this run was shown private content, and people who were not present for it can read "
    "that chat; say that you cannot pass it on"
)
OUTSIDERS_SPOKE = (
    "refused: this run was shown words of people from outside of this chat, so it changes nothing "
    "elsewhere unless a person of this chat agrees"
)


class NotWritable(NotFound):
    """The chat is private to other people, and the run may not write to it."""


class NeedsConsent(Forbidden):
    """The post needs a person to agree to its exact words."""


def check_post(run: Run, chat: Chat) -> None:
    """Check that a post shows no content to people who were not present for the content.

    `chat` is the destination as it was read. The transaction that posts must fail if the chat has
    changed since.

    Raises:
        NotWritable: See `may_write`.
        ReadersChanged: Since the prompt was built, someone has joined the chat that it showed.
        NeedsConsent: The chat is not the one that the prompt showed, and its readers may not see
            all content of the activation. Or the content may have no effect in the chat; see
            `check_effect`.
    """
    if not may_write(run, chat):
        raise NotWritable(
            "the run may not write to this private chat", reason=Reason.DISCLOSURE_REFUSED
        )
    if run.held is None:
        raise ReadersChanged(f"{run.id}: the activation has no record of its held content")
    if chat.id == run.held.chat_id:
        check_readers(run.held, chat)
    elif not may_affect(run, chat.readers):
        raise NeedsConsent(PRIVATE_ELSEWHERE, reason=Reason.DISCLOSURE_REFUSED)
    check_effect(run, chat.id)


def check_effect(run: Run, chat_id: str | None) -> None:
    """Check that a run may cause an effect, depending on whose words the run was shown.

    Words of outsiders may have an effect only in the run's own chats. Words that were shown by a
    sharing rule may have an effect only in the chat where they were shown.

    Args:
        chat_id: The chat whose readers notice the effect; None if people other than the readers of
            one chat may notice it.

    Raises:
        NeedsConsent: The run was shown words that may have no effect in this chat.
    """
    outsiders = run.held is None or run.held.outsiders
    by_rule = run.held is not None and run.words.by_rule and chat_id != run.held.chat_id
    if by_rule or (outsiders and chat_id not in chats_of_insiders(run)):
        raise NeedsConsent(OUTSIDERS_SPOKE, reason=Reason.DISCLOSURE_REFUSED)


def check_readers(held: HeldContent, chat: Chat) -> None:
    """Check that an activation's prompt was made for all current readers of its chat.

    Raises:
        ReadersChanged: Someone has joined since the prompt was built.
    """
    if not made_for_all(held.readers, chat):
        raise ReadersChanged(f"{chat.id}: someone joined")


def made_for_all(readers: Audience, chat: Chat) -> bool:
    """Return whether an activation's prompt was made for all current readers of its chat.

    Args:
        readers: The people for whom the prompt was made.
        chat: The chat that the prompt showed, in its current state.
    """
    return readers.open or set(chat.readers.people) <= set(readers.people)


def may_write(run: Run, chat: Chat) -> bool:
    """Return whether a run may write to a chat.

    Any run may write to an open chat and to its own chat. A run that a person caused may write to
    another private chat if the person is a member of that chat. A run that no person caused may
    write to another private chat if the run's service or its operator's plan names that chat.
    """
    if chat.visibility == "open" or chat.id == run.chat_id:
        return True
    person = run.trigger.user_id
    if person is None:
        return chat.id == run.trigger.names_chat
    return chat.formerly.get(person, person) in chat.person_ids


def may_affect(run: Run, audience: Audience) -> bool:
    """Return whether everyone in `audience` may see all content of the run's activation."""
    return run.held is not None and may_show(run.held.audience, audience)
