"""Remove the words from a consent after the person deletes a message that the consent posted."""

from datetime import datetime

from skein.models.chats.consent import Consent
from skein.models.common.storage import Key
from skein.ports import Table
from skein.services.common.optimistic import revise


def wordless(table: Table, key: Key, now: datetime) -> Consent | None:
    """Remove the words from a consent, and cancel its remaining posts (idempotent).

    Returns:
        The changed consent; None if the consent does not exist.

    Raises:
        ConditionFailed: The consent has changed.
    """
    consent = Consent.read(table, key)
    if consent is None or not consent.text:
        return consent
    posts = tuple(
        post.model_copy(update={"status": "failed", "failure": "deleted"})
        if post.status == "posting"
        else post
        for post in consent.posts
    )
    due = consent.model_copy(update={"posts": posts}).due(now)
    changed, write = revise(consent, {"text": "", "posts": posts}, also=due)
    table.write(write)
    return changed
