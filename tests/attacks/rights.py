"""What no story may change: names, roles, ranks, and access to the words of others."""

from dataclasses import dataclass, replace

from skein.memory.models.memory import Memory
from skein.models.chats.chat import Chat, Message
from skein.models.common.base import NamedMember
from skein.models.common.person_names import split_tag, tagged
from skein.models.directory.user import User
from skein.models.visibility.ownership import DerivedItem
from skein.models.visibility.provenance import digest_of
from skein.planning.models.plan import Plan
from skein.privacy.erasure_sweep import ERASED
from skein.privacy.models.erasure import NamedTexts
from skein.services.chat_state.person_choices import read_choices
from tests.attacks.cast import PEOPLE, named, titled
from tests.attacks.effects import Change, Thing
from tests.attacks.knowledge import Leak, people_of
from tests.attacks.stage import Stage
from tests.attacks.steps import (
    LINK_AND_ERASE,
    Answer,
    Erase,
    Leave,
    MakeOwner,
    Merge,
    Open,
    Remove,
    Step,
    Story,
)
from tests.stories.deeds import Write
from tests.support.builders import TENANT


class Wrong(Leak):
    """Somebody gained or lost what they may not."""


class Rights:
    """Watches a story; `check` is called before each step and after the last one.

    The rules are spelled out here once more, so that the search does not ask the code that it
    examines.
    """

    def __init__(self, stage: Stage, story: Story) -> None:
        self._stage = stage
        self._story = story
        self._owners: dict[str, set[str]] = {}
        self._members: dict[str, set[str]] = {}
        self._ids: dict[str, set[str]] = {}
        self._erased: set[str] = set()
        self._consents: dict[str, set[str]] = {}
        self._stranger = stage.stranger
        self._asked: set[tuple[object, ...]] = set()

    def check(self) -> None:
        """Check all that the last step changed.

        Raises:
            Wrong: Somebody gained or lost what they may not.
        """
        done = self._story[self._stage.step - 2] if self._stage.step > 1 else None
        chats = [self._stage.stored_chat(each) for each in self._stage.knowledge.chat_ids()]
        self._check_names(chats)
        if done is not None:
            all_done = tuple(map(self._stage.resolved, (done, *done.meanwhile)))
            for chat in chats:
                self._check_roles(chat, all_done)
            self._check_link(all_done)
            self._check_consents(all_done)
            self._check_erased(all_done)
            changes = [c for c in self._stage.ledger.changes if c.step == self._stage.step - 1]
            _check_ranks(changes)
            if isinstance(done, Erase):
                ids = self._ids.get(done.who, {done.who})
                _check_erasure(changes, ids, chats, self._decision(done))
        self._owners = {chat.id: _owners(chat) for chat in chats}
        self._members = {chat.id: set(people_of(chat)) for chat in chats}
        self._ids = {person.id: self._ids_of(person.id) for person in PEOPLE}
        self._erased = self._erased_people()
        self._consents = {person.id: self._consents_of(person.id) for person in PEOPLE}
        self._stranger = self._stage.stranger
        self._asked = self._questions_to(self._stranger)

    def _ids_of(self, user_id: str) -> set[str]:
        item = self._stage.table.get(User.key_of(TENANT, user_id))
        return {user_id, *(User.from_item(item).former_ids if item is not None else ())}

    def _erased_people(self) -> set[str]:
        keys = {person.id: User.key_of(TENANT, person.id) for person in PEOPLE}
        found = self._stage.table.get_many(list(keys.values()))
        return {
            who
            for who, key in keys.items()
            if key not in found or User.from_item(found[key]).erasure_id is not None
        }

    def _consents_of(self, user_id: str) -> set[str]:
        return {each.id for each in self._stage.app.consents.list(TENANT, user_id).items}

    def _questions_to(self, user_id: str) -> set[tuple[object, ...]]:
        """The open questions to a person, invitations included."""
        choices = read_choices(self._stage.table, TENANT, user_id, self._stage.clock.now())
        return {(each.chat_id, each.seq, each.invited_to) for each in choices.open}

    def _decision(self, done: Erase) -> "Decision":
        names = [name for name in self._stage.given[done.who] if len(name.split()) > 1]
        return Decision(done.named_texts, tuple(names), frozenset(self._stage.previewed))

    # ------------------------------------------------------------------ numbers and operators

    def _check_link(self, done: tuple[Step, ...]) -> None:
        """Check who got the stranger's number, and that no question of the caller came along."""
        owner, former = self._stage.stranger, self._stranger
        if owner == former or owner not in self._stage.given:
            return
        links = (step for step in done if isinstance(step, Merge) and step.who == owner)
        if not any(step.allowed for step in links):
            raise Wrong(f"{named(owner)} got the stranger's number without a right to it")
        if self._asked & (self._questions_to(former) | self._questions_to(owner)):
            raise Wrong(f"{named(owner)} took over open questions to the stranger")

    def _check_consents(self, done: tuple[Step, ...]) -> None:
        """Check that a person's consents are the person's own answers."""
        answered = {step.who for step in done if isinstance(step, Answer | Write)}
        for who, before in self._consents.items():
            if self._consents_of(who) - before and who not in answered:
                raise Wrong(f"{named(who)} has a consent that {named(who)} never gave")

    def _check_erased(self, done: tuple[Step, ...]) -> None:
        """Check that only an operator with the right role erases a person."""
        allowed = (s for s in done if isinstance(s, Erase) and s.role in LINK_AND_ERASE)
        for who in self._erased_people() - self._erased - {step.who for step in allowed}:
            raise Wrong(f"{named(who)} was erased by nobody with the right to it")

    # ------------------------------------------------------------------ names

    def _check_names(self, chats: list[Chat]) -> None:
        """Check that a name without a tag was given, and that a tag is the person's own."""
        for chat in chats:
            senders = [message.sender for message in self._stage.messages(chat.id)]
            for who in (*chat.roster, *(each.member for each in chat.invited), *senders):
                if who.id in self._stage.given and not self._is_own(who):
                    raise Wrong(f"{titled(chat.id)} shows {who.id} as {who.name!r}")

    def _is_own(self, who: NamedMember) -> bool:
        """Whether a name was given; who writes while they are erased has the name of the erased."""
        if who.name == ERASED.name:
            return who.id in self._erased_people()
        tag = split_tag(who.name)[1]
        if tag:
            return tag == split_tag(tagged("", TENANT, who.id))[1]
        return who.name in self._stage.given[who.id] or who.name.startswith("Caller ")

    # ------------------------------------------------------------------ roles

    def _check_roles(self, chat: Chat, done: tuple[Step, ...]) -> None:
        """Check who became an owner of a group, and who is not in it any more."""
        if chat.kind == "direct":
            return
        new, owners = chat.id not in self._owners, set(self._owners.get(chat.id, ()))
        gone = self._members.get(chat.id, set()) - set(people_of(chat))
        for step in done:
            if (isinstance(step, Open) and new) or (
                isinstance(step, MakeOwner) and step.by in owners
            ):
                owners.add(step.who)
            if isinstance(step, Leave | Erase):
                gone -= self._ids.get(step.who, {step.who})
            if isinstance(step, Remove) and step.by in {step.who, *owners}:  # all may leave
                gone.discard(step.who)
        grown = _owners(chat) - owners
        if grown:
            raise Wrong(f"{_names(grown)} became an owner of {titled(chat.id)}")
        if gone & set(self._stage.given):
            raise Wrong(f"{_names(gone)} was removed from {titled(chat.id)} by no owner")


def _owners(chat: Chat) -> set[str]:
    return {each.id for each in chat.roster if chat.role_of(each.ref) == "owner"}


# ---------------------------------------------------------------------- ranks


def _check_ranks(changes: list[Change]) -> None:
    """Check that no item became an operator's: no step of a story confirms one."""
    for change in changes:
        before, after = change.before, change.after
        if not isinstance(before, DerivedItem) or not isinstance(after, DerivedItem):
            continue
        if after.by_operator and not before.by_operator:
            raise Wrong(f"an item has become an operator's: {after.texts}")


# ---------------------------------------------------------------------- erasure


@dataclass(frozen=True)
class Decision:
    """What an operator decided on texts of others that have the full name of an erased person.

    Attributes:
        names: The full names of the person.
        previewed: The ids of the texts that the preview listed.
    """

    named_texts: NamedTexts
    names: tuple[str, ...]
    previewed: frozenset[str | None]

    def allows(self, thing_id: str, before: tuple[str, ...], after: tuple[str, ...] | None) -> bool:
        """Whether the decision makes these texts of an old thing out of others; None: it goes."""
        if thing_id not in self.previewed:
            return False
        if self.named_texts == "remove":
            return after is None and any(name in text for name in self.names for text in before)
        replaced = tuple(map(self._without_names, before))
        return self.named_texts == "replace" and after == replaced

    def _without_names(self, text: str) -> str:
        for name in self.names:
            text = text.replace(name, "[erased]")
        return text.strip()


def _check_erasure(
    changes: list[Change], ids: set[str], chats: list[Chat], decision: Decision
) -> None:
    """Check that an erasure changes nothing that the person had no part in.

    Texts with the person's full name change as the operator decided, if the preview listed them.

    Args:
        ids: The ids of the erased person.
    """
    rooms = {chat.id: set(people_of(chat)) for chat in chats}
    new = {change.thing.id for change in changes if change.before is None}  # after the preview
    decision = replace(decision, previewed=decision.previewed | new)
    for change in changes:
        before, after = change.before, change.after
        if change.actor.kind != "else":
            continue
        if isinstance(before, Message):
            _check_message(before, after, _is_of(before, ids, rooms), decision)
        elif isinstance(before, DerivedItem) and not isinstance(before, Plan):  # plans fire
            _check_item(change, ids, decision)


def _check_message(before: Message, after: Thing | None, theirs: bool, decision: Decision) -> None:
    stays = isinstance(after, Message) and after.kind != "erased"
    text = after.text if isinstance(after, Message) and stays else None
    if theirs or text == before.text or before.kind == "erased":
        return
    if not decision.allows(before.id, (before.text,), None if text is None else (text.strip(),)):
        raise Wrong(f"the erasure changes a message of others: {before.text!r}")


def _check_item(change: Change, ids: set[str], decision: Decision) -> None:
    before, after = change.before, change.after
    assert isinstance(before, DerivedItem)
    texts = _texts(after) if isinstance(after, DerivedItem) else None
    if texts == _texts(before):
        return
    decided = not before.by_operator and decision.allows(change.thing.id, _texts(before), texts)
    if not decided and not _rests_on(before, ids):
        raise Wrong(f"the erasure changes an item of others: {before.texts}")
    if after is None and not decided and not _goes(before, ids):
        raise Wrong(f"the erasure removes an item of others, too: {before.texts}")


def _texts(item: DerivedItem) -> tuple[str, ...]:
    return tuple((text or "").strip() for text in item.texts)


def _is_of(message: Message, ids: set[str], rooms: dict[str, set[str]]) -> bool:
    """Whether a message is the person's, or an agent's that may hold the person's words."""
    if message.sender.kind == "user":
        return message.sender.id in ids
    asked = message.choice is not None and message.choice.addressee in ids
    alone = not rooms.get(message.chat_id, set()) - ids
    return asked or alone or message.authors.may_include(map(digest_of, ids))


def _rests_on(item: DerivedItem, ids: set[str]) -> bool:
    """Whether an item may hold words of the person, or names the person as a reader."""
    writers = item.made_from.writers
    return (
        item.authors.may_include(map(digest_of, ids))
        or writers.may_include(ids)
        or item.audience.counts(ids)
    )


def _goes(item: DerivedItem, ids: set[str]) -> bool:
    """Whether an item rests on the person alone, is for nobody else, or is made again."""
    alone = item.authors.only(map(digest_of, ids)) or item.made_from.writers.only(ids)
    private = not item.audience.open and set(item.audience.people) <= ids
    again = isinstance(item, Memory) and item.made_by in {"consolidation", "reflection"}
    operators = item.by_operator and not item.WORKED_ON
    return not operators and (alone or private or again)


def _names(people: set[str]) -> str:
    return " and ".join(sorted(map(named, people)))
