"""Notify people of the sharing rules that let agents share their private messages."""

from dataclasses import dataclass

from skein.errors import Conflict, ExtraWriteFailed, LostLease, NotFound
from skein.models.chats.chat import Chat
from skein.models.common.effects import effect_id
from skein.models.visibility.sharing_rules import SharingRule
from skein.prompts import render
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.runs.claim import Claim
from skein.services.visibility.sharing_rules import pause_in
from skein.settings import Settings

MAX_LISTED = 1_500  # maximum length of the names and reasons in a notice, in characters


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingNotices:
    """The service that posts a notice about new sharing rules, once for each rule and chat."""

    chats: Chats
    settings: Settings

    def tell(self, claim: Claim, rules: tuple[SharingRule, ...]) -> None:
        """Post a notice of the rules that are new in a run's direct chat (idempotent).

        The rules apply only to messages that the person writes after the notice.

        Raises:
            LostLease: Another worker has taken the run over.
            Transient: The table failed.
        """
        chat, run = claim.chat, claim.run
        if chat is None or not run.trigger.by_person:
            return
        notice = NewMessage(
            tenant=run.tenant,
            chat_id=chat.id,
            sender=claim.agent,
            kind="notice",
            text=self._text(chat, rules),
            client_id=f"sharing:{effect_id(*sorted(rule.id for rule in rules))}",
            run_id=run.id,
            noticed_rules=tuple(rule.id for rule in rules),
        )
        try:
            self.chats.post_message(notice, extra_writes=claim.guarded)
        except ExtraWriteFailed as error:
            raise LostLease(run.id) from error
        except (NotFound, Conflict):
            return  # the chat or its person was deleted; posting the answer will detect that

    def _text(self, chat: Chat, rules: tuple[SharingRule, ...]) -> str:
        people = _listed([*dict.fromkeys(f"{rule.to.role} ({rule.reason})" for rule in rules)])
        minutes = round(pause_in(chat, self.settings).total_seconds() / 60)
        return render("notice_sharing", {"people": people, "minutes": str(minutes)})


def _listed(people: list[str]) -> str:
    """Join entries up to `MAX_LISTED` characters, and append how many entries were left out."""
    shown, length = [people[0]], len(people[0])
    for one in people[1:]:
        length += len(one) + len("; ")
        if length > MAX_LISTED:
            return f"{'; '.join(shown)}; and {len(people) - len(shown)} more"
        shown.append(one)
    return "; ".join(shown)
