"""Let runs ask the person whose message they answer, e.g. for consent to a post.

A run with private content cannot post to people who may not see the content. A run that was shown
text by people outside its chats cannot post in other chats. In both cases, the run may ask for
consent: the person whose message the run answers can agree to the post. The wording of the question
is fixed; the model chooses only the text to post.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skein.errors import Conflict, Forbidden, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.choice import CONSENT, MAX_DESTINATIONS, Option, Proposal
from skein.models.chats.consent import ConsentData
from skein.models.common.base import MemberRef, Stored
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.runs.run import PREVIEW_CHARACTERS, Run, SentMessage
from skein.models.visibility.audience import NOBODY, may_show
from skein.ports import Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.wording import YES_NO, destination_in, question_of, words_to_post
from skein.services.runs.claim import Claim
from skein.services.visibility.audience import audience_of
from skein.services.visibility.disclosure import (
    OUTSIDERS_SPOKE,
    PRIVATE_ELSEWHERE,
    NotWritable,
    check_post,
    may_write,
)

NOT_A_MEMBER = "refused: the person who asked is not a member of that chat"
UNKNOWN_HERE = "refused: people who can read this chat may not know of that one"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuestions:
    """The service that asks the person whose message a run answers."""

    asking: Asking

    def ask(
        self,
        claim: Claim,
        question: str,
        *,
        purpose: str,
        data: Stored,
        client_id: str,
        options: tuple[Option, ...] = YES_NO,
        check: Callable[[ChatSnapshot], None] = lambda _: None,
    ) -> SentMessage:
        """Ask the person whose message a run answers (idempotent).

        Args:
            claim: The run.
            purpose: The purpose of the question, which selects the effect of the answer.
            data: The data for the effect of the answer.
            client_id: The idempotency key of the question.
            options: The fixed answers.
            check: Gets the current snapshot of the chat; raises an error if the question may not be
                asked in the chat.

        Returns:
            The message with the question, which the run has sent.

        Raises:
            Forbidden: The run may not ask.
            AlreadyAsked, RateLimited, Unprocessable: See `Asking.ask`.
            ReadersChanged: Someone has joined the run's chat since the prompt was built.
            ExtraWriteFailed: Another worker has claimed the run.
        """
        run, asked = claim.run, person_to_ask(claim.run)
        if asked is None or run.chat_id is None or run.held is None:
            raise Forbidden(PRIVATE_ELSEWHERE, reason=Reason.DISCLOSURE_REFUSED)
        present = NOBODY

        def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
            nonlocal present
            check_post(run, snapshot.chat)
            check(snapshot)
            present = audience_of(snapshot.chat, since_seq=snapshot.chat.last_seq + 1)
            return (claim.guard,)

        new = NewChoice(
            tenant=run.tenant,
            chat_id=run.chat_id,
            agent=claim.agent,
            client_id=client_id,
            addressee=asked,
            question=question,
            options=options,
            purpose=purpose,
            data=data.attributes(),
            **run.posting,
        )
        message = self.asking.ask(new, extra_writes=extra_writes).message
        return SentMessage(
            chat_id=message.chat_id,
            seq=message.seq,
            preview=message.text[:PREVIEW_CHARACTERS],
            audience=run.held.audience.narrowed(present),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """The service that asks people, on behalf of runs, to agree to a post."""

    table: Table
    questions: RunQuestions

    def propose(
        self, claim: Claim, text: str, chat_ids: Sequence[str], *, client_id: str
    ) -> SentMessage:
        """Ask for a person's consent to a post in other chats (idempotent).

        Args:
            claim: The run. The question is posted in the run's chat, to the person whose message
                the run answers.
            text: The text to post; invisible characters and hidden links are removed from it.
            chat_ids: The chats to post in, at most 10.
            client_id: The idempotency key of the question.

        Returns:
            The message with the question, which the run has sent.

        Raises:
            Forbidden: The run may not ask this person. Or the person is not a member of one of the
                chats. Or the question would reveal a private chat to people who may not know of it.
            NotFound: The agent is not a member of a chat, or the run may not write to it.
            Conflict: A chat is discarded.
            Unprocessable: The text or the list of chats is too long.
            AlreadyAsked, RateLimited: See `Asking.ask`.
            ReadersChanged: Someone has joined the run's chat since the prompt was built.
            ExtraWriteFailed: Another worker has claimed the run.
        """
        run = claim.run
        asked = person_to_ask(run)
        if asked is None or run.chat_id is None:
            is_open = run.held is not None and run.held.audience.open
            refusal = OUTSIDERS_SPOKE if is_open else PRIVATE_ELSEWHERE
            raise Forbidden(refusal, reason=Reason.DISCLOSURE_REFUSED)
        if len(chat_ids) > MAX_DESTINATIONS:
            raise Unprocessable(f"one question may name at most {MAX_DESTINATIONS} chats")
        words = words_to_post(text)
        chats = [self._chat(claim, asked, chat_id) for chat_id in chat_ids]
        destinations = tuple(map(destination_in, chats))
        proposal = Proposal(agent_id=run.agent_id, text=words, destinations=destinations)

        def check(snapshot: ChatSnapshot) -> None:
            if not all(may_show(each.readers, snapshot.chat.readers) for each in chats):
                raise Forbidden(UNKNOWN_HERE, reason=Reason.DISCLOSURE_REFUSED)

        return self.questions.ask(
            claim,
            question_of(words, chats, asked),
            purpose=CONSENT,
            data=ConsentData(proposal=proposal),
            client_id=client_id,
            check=check,
        )

    def _chat(self, claim: Claim, asked: str, chat_id: str) -> Chat:
        """Read a chat to post in, and check that the run and the person may post in it.

        Raises:
            NotFound, Forbidden, Conflict: See `propose`.
        """
        run = claim.run
        snapshot = read_snapshot(self.table, run.tenant, chat_id).for_member(claim.agent)
        if not may_write(run, snapshot.chat):
            raise NotWritable("chat not found", reason=Reason.DISCLOSURE_REFUSED)
        if snapshot.member(MemberRef(kind="user", id=asked)) is None:
            raise Forbidden(NOT_A_MEMBER, reason=Reason.DISCLOSURE_REFUSED)
        if snapshot.chat.discarded_at is not None:
            raise Conflict("the chat is discarded")
        return snapshot.chat


def person_to_ask(run: Run) -> str | None:
    """Return the person whose message a run answers; None if the run may not ask that person.

    A run may ask only if a person's message triggered it and its wait, if any, did not time out.
    The person must have been present for all content of the prompt.
    """
    by, resumed = run.trigger.by, run.resumed
    if run.trigger.type != "chat_message" or by is None or by.kind != "user":
        return None
    if run.held is None or (resumed is not None and resumed.status == "timeout"):
        return None
    present = run.held.audience.open or run.held.audience.counts([by.id])
    return by.id if present else None
