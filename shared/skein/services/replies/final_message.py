"""The end of a run: what its agent says last, and that the run is over, all or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from skein.errors import ExtraWriteFailed, LostLease, ReadersChanged
from skein.models.jobs import RunJob
from skein.models.storage import Write
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.runs.claim import Claim
from skein.services.runs.completion import RunCompletion
from skein.services.runs.disclosure import check_post
from skein.services.runs.step_record import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalMessages:
    """Ends runs well, with or without a word."""

    chats: Chats
    completion: RunCompletion

    def end(
        self,
        claim: Claim,
        said: NewMessage | None,
        answer: Recording | None,
        *,
        snapshot: ChatSnapshot | None = None,
    ) -> None:
        """End a run that has come to its end, and post what its agent says last.

        In the run's own chat both are one transaction, and the answer that it comes from may be
        written down in it, too. Elsewhere the words are posted first.

        Args:
            claim: The run's; that of `answer`, if there is one.
            said: The words; None for silence.
            answer: The model's last, if it is still to be written down and `all_one` says that it
                may be here.
            snapshot: The chat of the words and its members, where they have been read.

        Raises:
            LostLease: Another worker has taken the run over.
            ReadersChanged: Someone joined the chat that the prompt showed; nothing was written.
            Rejected: The chat does not take the words; nothing was written.
            Contention: Too many others wrote the chat at once; nothing was written.
        """
        if said is None:
            self.completion.end(claim, "done", answer=answer)
            return
        jobs: list[RunJob] = []
        together = _one_transaction(claim, said)

        tries = count()

        def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
            check_post(claim.run, snapshot)
            if not together:
                return (claim.guard,)
            ending = self.completion.done_in(snapshot, claim, answer, again=next(tries) > 0)
            jobs[:] = ending.jobs
            return ending.writes

        try:
            posted = self.chats.post_message(said, extra_writes=extra_writes, known=snapshot)
        except ExtraWriteFailed as error:
            raise LostLease(claim.run.id) from error
        except ReadersChanged:
            if self.chats.earlier(said) is None:
                raise
            self.completion.end(claim, "done", answer=answer)
            return
        if together and posted.created:
            self.completion.over(claim.run, "done", jobs)
        else:  # the words stand alone: as they were posted here, or by an earlier attempt
            self.completion.end(claim, "done", answer=answer)


def all_one(claim: Claim, said: NewMessage | None) -> bool:
    """Whether a run's last answer may be written down by the transaction that ends the run.

    Not where the end takes several writes: the answer stands before the first of them.

    Args:
        claim: The run's, as it is with the answer.
        said: What the agent says last; None for silence.
    """
    shown = claim.run.shown
    at_home = shown is None or shown.chat_id == claim.run.chat_id
    return at_home and (said is None or _one_transaction(claim, said))


def _one_transaction(claim: Claim, said: NewMessage) -> bool:
    """Whether words can be posted by the transaction that ends the run.

    The next agent of a chain may be one that they wake: an item is written once in a transaction.
    """
    return said.chat_id == claim.run.chat_id and not claim.run.then
