"""Who may know the secret of a story, or another word that a person says in private."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from skein.errands.models.errand import Errand, OrderData
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import YES
from skein.models.chats.consent import ConsentData
from skein.models.chats.desk_stay import DeskStay
from skein.models.chats.membership import Membership
from skein.models.common.address import phone_address
from skein.models.common.base import MemberRef, is_visitor
from skein.models.directory.address_index import AddressOwner
from skein.models.runs.run import Run
from tests.attacks.cast import PEOPLE, PHONES, Word, named, titled
from tests.attacks.encoding import is_told
from tests.attacks.files import words_in
from tests.attacks.permissions import Permissions
from tests.fakes.table import MemoryTable
from tests.support.builders import TENANT, World

EVERYBODY = ("everybody",)
"""The readers of an open chat, of a chat without people, and of a run without a chat."""

NO_CHAT = "no chat"
"""The place of a run without a chat."""

Readers = tuple[str, ...]


class Leak(AssertionError):
    """An outsider can see a secret, or can tell two secrets apart."""


@dataclass
class Confirmed:
    """Words that a person agreed to, and the readers that they were shown for each chat."""

    person: str
    text: str
    readers: dict[str, Readers]


def owner_of(table: MemoryTable, phone: str) -> str | None:
    """The id of the user to whom a phone number belongs; None for nobody's."""
    owner = AddressOwner.read(table, AddressOwner.key_of(TENANT, phone_address(phone)))
    return owner.user_id if owner is not None else None


class Knowledge:
    """Keeps track of who may know the secret.

    People may know it who were there when it was said, and people who can read a message that says
    it in a chat of theirs. So may the readers of words that one of these people confirmed, and in
    the private chats where they were told it, those whom a sharing rule lets be told. All others
    are outsiders.

    Args:
        world: Where the story is played.
        secret: Its secret.
        permissions: The roles and sharing rules of the story.
        told_apart: False where the secret is also the guess, so that it stands in innocent places.

    Attributes:
        insiders: The people who may know the secret, wherever they are.
        told_by_rule: How many prompts told the secret by a rule.
        varied: Whether the secret has decided what an agent did. A person who saw that may answer
            one question in one run of a story, and another in the other.
    """

    def __init__(
        self, world: World, secret: str, permissions: Permissions, *, told_apart: bool
    ) -> None:
        self._world = world
        self._secret = secret
        self._permissions = permissions
        self._told_apart = told_apart
        self.insiders: set[str] = set()
        self.told_by_rule = 0
        self.varied = False
        self._told_in: defaultdict[str, set[str]] = defaultdict(set)
        self._saved_in: set[str] = set()  # chats that were told, and where tools have saved it
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self._invited: defaultdict[str, set[str]] = defaultdict(set)
        self._scanned: dict[str, int] = {}
        self._scanned_as_of = -1
        self._chat_ids: tuple[int, list[str]] = (-1, [])
        self._confirmed: list[Confirmed] = []
        self._answered: set[str] = set()
        self._orders: list[tuple[str, set[str]]] = []  # the texts and people of agreed errands

    def tells(self, text: str) -> bool:
        """Whether a text tells the secret, and not just the guess that happens to be right."""
        return self._told_apart and is_told(self._secret, text)

    def outsiders(self) -> list[str]:
        """The people who may not know the secret."""
        told = self.insiders.union(*self._told_in.values())
        return [person.id for person in PEOPLE if person.id not in told]

    def outside(self, readers: Readers, chat_id: str | None = None) -> bool:
        """Whether one of these readers may not know the secret in a chat.

        Only visitors are outside once it was told to everybody; strangers who text are not in the
        cast.
        """
        told = self._told_in[chat_id] if chat_id is not None else set()
        if self.told_everybody:
            return not set(filter(is_visitor, readers)) <= self.insiders | told
        return not set(readers) <= self.insiders | told

    def prompted(
        self, readers: Readers, chat_id: str, text: str, *, agent: str, fresh: bool
    ) -> bool:
        """Note that a prompt is made for a private chat; return whether rules may tell them there.

        Args:
            readers: Who reads the chat.
            chat_id: The chat, or `NO_CHAT`.
            text: The prompt.
            agent: The agent whose prompt it is.
            fresh: Whether the prompt was just built; what one told before stays in its calls.
        """
        if self._permitted(readers, agent, self._world.clock.now()):
            self._told_in[chat_id].update(set(readers) - self.insiders)
            self.told_by_rule += self.tells(text)
            return True
        told = not self.outside(readers, chat_id)
        said = chat_id != NO_CHAT and self._said_in(chat_id)
        return told and (said or chat_id in self._saved_in or not fresh)

    def _permitted(self, readers: Readers, agent: str, at: datetime) -> bool:
        """Whether a rule lets all readers be told the secret who were not present."""
        people = set(readers) - self.insiders
        permits = self._permissions.permits
        return bool(people) and all(permits(self._secret, one, agent, at) for one in people)

    def may_be_told(self, chat_id: str, agent: str) -> bool:
        """Whether a rule lets all readers of a chat be told the secret now."""
        return self._permitted(self.readers(chat_id), agent, self._world.clock.now())

    def saved(self, chat_id: str | None, agent: str) -> None:
        """Note what tools of a run have saved by now: they may save what a chat was told.

        Later prompts for the same chat may show what was saved while the rule still held.
        """
        if chat_id is None or chat_id in self._saved_in or not self._told_in[chat_id]:
            return
        people = tuple(self._told_in[chat_id])
        if not self._permitted(people, agent, self._world.clock.now()):
            return
        keys = self._world.table.all_keys()
        items = (self._world.table.get(key) for key in keys if f"#AGENT#{agent}" in key.pk)
        if any(self.tells(str(item)) for item in items):
            self._saved_in.add(chat_id)

    def chat_ids(self) -> list[str]:
        """All chats of the story, those of the stranger's phone included."""
        table = self._world.table
        if self._chat_ids[0] != table.changes:
            keys = [key for key in table.all_keys() if key.sk == "META"]
            found = sorted({key.pk.rsplit("#", 1)[1] for key in keys if "#CHAT#" in key.pk})
            self._chat_ids = table.changes, found
        return self._chat_ids[1]

    def readers(self, chat_id: str) -> Readers:
        """Who reads a chat now.

        A chat without people is a place for open things only. One that all people have left is read
        by nobody.
        """
        chat = self._world.stored_chat(chat_id)
        people = people_of(chat)
        if chat.visibility == "private" and (people or self._members[chat_id]):
            return people
        return EVERYBODY

    def strange_chats(self, person: str) -> list[str]:
        """The private chats that a person was never in, nor invited to."""
        return [
            chat_id
            for chat_id, members in self._members.items()
            if person not in members | self._invited[chat_id] and self.readers(chat_id) != EVERYBODY
        ]

    def confided(self, chat_id: str, word: Word | None) -> None:
        """Note that a person said a word in a private chat."""
        if word == "secret":
            self.insiders.update(self.readers(chat_id))

    def answered(self, who: str, *, yes: bool) -> None:
        """Note the words to which a person has just agreed.

        Raises:
            Leak: Somebody else answered for a person, or yes was recorded for a no.
        """
        if self.varied and who not in self.outsiders():
            self.tell_everybody()
        for chat_id in self.chat_ids():
            for message in self._world.messages(chat_id):
                asked = message.choice
                if asked is None or asked.answer is None or message.id in self._answered:
                    continue
                self._answered.add(message.id)
                agreed = asked.purpose in {"consent", "sharing"} and asked.answer.option == YES
                if asked.addressee not in self._known_as(who) or (agreed and not yes):
                    raise Leak(f"{named(who)} answered for {named(asked.addressee)}: {asked}")
                if agreed and "orders" in asked.data:
                    orders = OrderData.from_item(asked.data).orders
                    people = {person.id for person in orders.asked}
                    self._orders.append((orders.text, people))
                if agreed and "proposal" in asked.data:
                    proposal = ConsentData.from_item(asked.data).proposal
                    shown = {
                        each.chat_id: EVERYBODY if each.readers.open else each.readers.people
                        for each in proposal.destinations
                    }
                    self._confirmed.append(Confirmed(who, proposal.text, shown))

    def _known_as(self, who: str) -> set[str]:
        """The ids of a person: after an erasure, who texts from their phone is somebody new."""
        owner = owner_of(self._world.table, PHONES[who]) if who in PHONES else None
        return {who, owner or who}

    @property
    def told_everybody(self) -> bool:
        """Whether all members may know the secret."""
        return self.insiders.issuperset(EVERYBODY)

    def tell_everybody(self) -> None:
        """Note that somebody who knows the secret told it to everybody."""
        self.insiders.update(EVERYBODY, (person.id for person in PEOPLE))

    # ------------------------------------------------------------------ after each step

    def scan(self) -> None:
        """Note who has come to know the secret since the last scan, if anything was written.

        Raises:
            Leak: An agent's message brought it to somebody who may not know it.
        """
        if self._scanned_as_of == self._world.table.changes:
            return
        for message in sorted(self._news(), key=lambda message: message.id):
            if message.via is not None:
                self._posted(message)
            elif message.sender.kind != "user" and self.tells(words_in(self._world, message)):
                errand = self._asked_for(message) or self._brought_back(message)
                if not errand:
                    self._heard(message)
        for chat_id in self.chat_ids():
            chat = self._world.stored_chat(chat_id)
            self._members[chat_id].update(people_of(chat))
            self._invited[chat_id].update(each.member.id for each in chat.invited)
            readers = self.readers(chat_id)
            unknowing = readers != EVERYBODY and self.outside(readers, chat_id)
            if unknowing and self._said_in(chat_id):  # a new member can read what came before
                self.insiders.update(readers)
        self._check_desk()
        self._scanned_as_of = self._world.table.changes

    def _check_desk(self) -> None:
        """Check that a request for a person tells its holder only what was said in the chat.

        Raises:
            Leak: It tells the secret, which was said elsewhere.
        """
        for key in self._world.table.all_keys():
            item = self._world.table.get(key) if key.sk.startswith(DeskStay.PREFIX) else None
            stay = DeskStay.from_item(item) if item is not None else None
            told = stay is not None and self.tells(f"{stay.reason} {stay.summary}")
            open_to_all = self.told_everybody
            if stay is not None and told and not open_to_all and not self._said_in(stay.chat_id):
                where = titled(stay.chat_id)
                raise Leak(f"the holder of {where} can read this:\n  {stay.summary!r}")

    def _news(self) -> Iterator[Message]:
        for chat_id in self.chat_ids():
            for message in self._world.messages(chat_id):
                if message.seq > self._scanned.get(chat_id, 0):
                    self._scanned[chat_id] = message.seq
                    yield message

    def _said_in(self, chat_id: str, before: int | None = None) -> bool:
        """Whether a member of a chat can read the secret there, in a message before another."""
        title = self._world.stored_chat(chat_id).title or ""
        messages = self._world.messages(chat_id)
        earlier = (each for each in messages if before is None or each.seq < before)
        said = (words_in(self._world, message) for message in earlier)
        return any(map(self.tells, [title, *said]))

    def _heard(self, message: Message) -> None:
        chat = self._world.stored_chat(message.chat_id)
        heard: Readers = EVERYBODY
        if chat.visibility == "private":
            there = (who for who in people_of(chat) if self._was_there(who, message))
            heard = tuple(there) or self._heard_by_agents(message)
        surprised = [who for who in heard if who not in self.insiders]
        if self.told_everybody:
            surprised = [*filter(is_visitor, surprised)]
        if surprised and not self.outside(heard, message.chat_id):
            by_rule = self._permitted(heard, message.sender.id, message.created_at)
            saved = message.chat_id in self._saved_in
            told = by_rule or saved or self._said_in(message.chat_id, before=message.seq)
            surprised = [] if told else surprised
        if surprised:
            readers = " and ".join(map(named, surprised))
            said = f"{message.sender.name}: {words_in(self._world, message)!r}"
            raise Leak(f"{readers} can read this in {titled(message.chat_id)}:\n  {said}")

    def _asked_for(self, message: Message) -> bool:
        """Whether a message is the question of an errand, with words that somebody agreed to."""
        asked = message.choice
        if asked is None or asked.purpose != "errand":
            return False
        orders = [people for text, people in self._orders if text == asked.question]
        if not any(asked.addressee in people for people in orders):
            return False
        self.insiders.add(asked.addressee)
        return True

    def _brought_back(self, message: Message) -> bool:
        """Whether a message has exactly the words with which a person answered an errand."""
        keys = self._world.table.all_keys() if message.report_of is not None else ()
        items = (self._world.table.get(key) for key in keys if key.sk.startswith(Errand.PREFIX))
        errands = [Errand.from_item(item) for item in items if item is not None]
        readers = self.readers(message.chat_id)
        for errand in errands:
            shown = errand.readers.reader_ids
            exact = message.text == f'{errand.asked.name}: "{errand.answer}"'
            if errand.id == message.report_of and exact:
                if shown is not None and not {*readers} <= {*shown}:
                    return False
                everybody = [person.id for person in PEOPLE] if readers == EVERYBODY else []
                self.insiders.update(readers, everybody)
                return True
        return False

    def _posted(self, message: Message) -> None:
        """Check that a person confirmed these words for these readers, each post once."""
        who, where = message.sender.id, message.chat_id
        said = f"{message.sender.name}, in {titled(where)}: {message.text!r}"
        readers = self.readers(where)
        if readers != EVERYBODY:
            readers = tuple(each for each in readers if self._was_there(each, message))
        for confirmed in self._confirmed:
            shown = confirmed.readers.get(where)
            same = (confirmed.person, confirmed.text) == (who, message.text)
            if same and shown is not None and (shown == EVERYBODY or {*readers} <= {*shown}):
                del confirmed.readers[where]
                break
        else:
            raise Leak(f"these words and readers were not confirmed:\n  {said}")
        if self.tells(message.text):
            if who not in self.insiders:
                raise Leak(f"the secret is confirmed by somebody who does not know it:\n  {said}")
            self.insiders.update(readers)
            if readers == EVERYBODY:
                self.insiders.update(person.id for person in PEOPLE)

    @staticmethod
    def _heard_by_agents(message: Message) -> Readers:
        """Of a chat without people: nobody, unless the words came from elsewhere."""
        at_home = message.run_id is not None and Run.home_of(message.run_id) == message.chat_id
        return () if at_home else EVERYBODY

    def _was_there(self, person: str, message: Message) -> bool:
        member = MemberRef(kind="user", id=person)
        item = self._world.table.get(Membership.key_of(TENANT, message.chat_id, member))
        return item is not None and Membership.from_item(item).joined_seq < message.seq


def people_of(chat: Chat) -> Readers:
    """The people in a chat."""
    return tuple(sorted(member.id for member in chat.roster if member.kind == "user"))
