"""Post the text that a person has agreed to, once in each chat of the consent.

The transaction of the person's answer stores the consent. Each post is a separate transaction: it
stores the message in the person's name, and records the message in the consent. A post fails if
people who were not named in the question can read the chat. If a worker dies, the tick sends the
job again.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from skein.errors import ConditionFailed, Conflict, ExtraWriteFailed, NotFound, SkeinError
from skein.models.chats.consent import Consent, ConsentedDestination, PostFailure, PostStatus
from skein.models.common.base import MemberRef
from skein.models.common.storage import Update, Write
from skein.models.directory.user import User
from skein.models.outbox.due import NOT_DUE
from skein.models.outbox.jobs import ConsentJob
from skein.ports import Clock, Table
from skein.prompts import render
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.common.optimistic import revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition
from skein.services.visibility.disclosure import made_for_all

POST_WITHIN = timedelta(days=1)  # the latest time after the yes; later posts surprise people
FAILURES: Mapping[PostFailure, str] = {
    "readers_changed": "people have joined who were not named in the question",
    "left": "you are no longer a member of it",
    "discarded": "the chat was discarded",
    "too_late": "more than a day has passed",
    "deleted": "you have deleted the words",
}

logger = logging.getLogger(__name__)


class _Refused(SkeinError):
    """The text may no longer be posted in a chat."""

    def __init__(self, failure: PostFailure) -> None:
        super().__init__(failure)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Consents:
    """The service that posts the texts that people have agreed to, and lists their consents."""

    table: Table
    clock: Clock
    chats: Chats

    def post(self, job: ConsentJob, *, audit: Callable[[Consent], object]) -> None:
        """Post the text of a consent in its chats (idempotent).

        If a post fails, a notice in the chat of the question tells the person.

        Args:
            audit: Records the consent in the audit log (idempotent), before the first post.
        """
        consent = self._read(job)
        if consent is None or consent.over:
            return
        audit(consent)
        while consent is not None and (post := consent.next_post) is not None:
            consent = self._posted(consent, post)
        if consent is not None and not consent.over:
            self._tell(consent)

    def list(
        self, tenant: str, user_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Consent]:
        """List a page of a person's consents, newest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            User.key_of(tenant, user_id).pk,
            [Consent.PREFIX],
            Consent.from_item,
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )

    def _read(self, job: ConsentJob) -> Consent | None:
        return Consent.read(self.table, Consent.key_of(job.tenant, job.user_id, job.consent_id))

    # ------------------------------------------------------------------ posting

    def _posted(self, consent: Consent, post: ConsentedDestination) -> Consent | None:
        """Post the text in one chat, or record why it was not posted.

        Returns:
            The consent after the post; None if it was deleted.
        """
        settled = consent

        def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
            nonlocal settled
            if self.clock.now() >= consent.created_at + POST_WITHIN:
                raise _Refused("too_late")
            if not made_for_all(post.readers, snapshot.chat):
                raise _Refused("readers_changed")
            settled, write = _settled(consent, post, seq=snapshot.chat.last_seq + 1)
            return (write,)

        new = NewMessage(
            tenant=consent.tenant,
            chat_id=post.chat_id,
            sender=MemberRef(kind="user", id=consent.user_id),
            text=consent.text,
            client_id=f"consent:{consent.id}",
            via=consent.via,
        )
        failure: PostFailure
        try:
            posted = self.chats.post_message(new, extra_writes=extra_writes)
        except ExtraWriteFailed:  # another worker was faster, or the person deleted the words
            return self._read(consent.job)
        except _Refused as refused:
            failure = refused.failure
        except NotFound:
            failure = "left"
        except Conflict:
            failure = "discarded"
        else:
            seq = posted.message.seq
            return settled if posted.created else self._settle(consent, post, seq=seq)
        return self._settle(consent, post, failure=failure)

    def _settle(
        self,
        consent: Consent,
        post: ConsentedDestination,
        *,
        seq: int | None = None,
        failure: PostFailure | None = None,
    ) -> Consent | None:
        """Record the result of one post.

        Returns:
            The consent after the post; None if it was deleted.
        """
        settled, write = _settled(consent, post, seq=seq, failure=failure)
        if failure is not None:
            ids = {"chat_id": post.chat_id, "consent_id": consent.id, "failure": failure}
            logger.info("words of a consent not posted", extra=ids)
        try:
            self.table.write(write)
        except ConditionFailed:
            return self._read(consent.job)
        return settled

    # ------------------------------------------------------------------ notices

    def _tell(self, consent: Consent) -> None:
        """Post a notice about the failed posts in the chat where the person was asked.

        If the agent has left the chat, no notice is posted. The person's list of consents shows the
        failures in any case.
        """
        notified = consent.model_copy(update={"notified": True})
        _, write = revise(consent, {"notified": True}, also=notified.due(self.clock.now()))
        lines = (
            render("notice_not_posted", {"chat": post.title, "why": FAILURES[post.failure]})
            for post in consent.failed
            if post.failure is not None
        )
        notice = NewMessage(
            tenant=consent.tenant,
            chat_id=consent.chat_id,
            sender=MemberRef(kind="agent", id=consent.agent_id),
            kind="notice",
            text="\n".join(lines),
            client_id=f"consent:{consent.id}",
            reply_to=consent.choice_seq,
        )
        with suppress(ConditionFailed, ExtraWriteFailed):  # another worker has notified the person
            try:
                self.chats.post_message(notice, extra_writes=lambda _: (write,))
            except (NotFound, Conflict):
                logger.info("notice skipped: its chat is gone", extra={"consent_id": consent.id})
                self.table.write(write)


def _settled(
    consent: Consent,
    post: ConsentedDestination,
    *,
    seq: int | None = None,
    failure: PostFailure | None = None,
) -> tuple[Consent, Update]:
    """Return the consent with the result of one post, and the write that stores the consent.

    The write has an optimistic lock.
    """
    status: PostStatus = "posted" if failure is None else "failed"
    ended = post.model_copy(update={"status": status, "seq": seq, "failure": failure})
    posts = tuple(ended if each == post else each for each in consent.posts)
    after = consent.model_copy(update={"posts": posts})
    return revise(consent, {"posts": posts}, also=NOT_DUE if after.over else None)
