"""Records of what sharing rules let a prompt or a tool show, and the versions of these rules."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from skein.models.common.storage import Put
from skein.models.runs.run import Run
from skein.models.visibility.disclosure import MAX_SEQS, DisclosureRecord
from skein.models.visibility.sharing_rules import SharingStamp
from skein.recall.layout import RecalledEntry
from skein.services.visibility.sharing_rules import ReaderRules

KEPT = timedelta(days=365)


def stamp_of(
    entries: Iterable[RecalledEntry], reader_rules: ReaderRules | None
) -> SharingStamp | None:
    """Return the versions of the sharing rules that allowed the entries; None if no rule did.

    The versions are checked later, so that words are not used after a rule or a person's choice has
    changed.
    """
    by_rule = [entry for entry in entries if entry.rules]
    if reader_rules is None or not by_rule:
        return None
    authors = {entry.message.sender.id: entry.author_version for entry in by_rule}
    rules = (rule for entry in by_rule for rule in entry.rules)
    return SharingStamp.of(reader_rules.epoch, reader_rules.versions | authors, rules)


def disclosure_records(
    run: Run,
    shown_in: str,
    entries: Sequence[RecalledEntry],
    now: datetime,
    *,
    cause: str | None = None,
) -> Iterator[Put]:
    """Yield a record for each chat whose words a run was shown because of sharing rules.

    Args:
        shown_in: The chat whose people are shown the words.
        entries: The entries that were shown. Entries without rules are left out.
        cause: The tool call that showed the entries; None for a prompt.
    """
    by_rule = [entry for entry in entries if entry.rules]
    for chat_id in dict.fromkeys(entry.message.chat_id for entry in by_rule):
        here = [entry for entry in by_rule if entry.message.chat_id == chat_id]
        words = [entry.message for entry in here]
        expiry = [message.expires_at for message in words if message.expires_at is not None]
        record = DisclosureRecord(
            tenant=run.tenant,
            author_id=words[0].sender.id,
            run_id=run.id,
            chat_id=chat_id,
            seqs=tuple(sorted({seq for entry in here for seq in entry.seqs}))[:MAX_SEQS],
            shown_in=shown_in,
            rule_ids=tuple(dict.fromkeys(rule.id for entry in here for rule in entry.rules)),
            at=now,
            cause=cause,
            expires_at=min([*expiry, int((now + KEPT).timestamp())]),
        )
        yield Put(record.key, record.to_item())
