"""Tenants with one of everything, each place with a word of its own by which a leak is known.

A `TenantData` is one tenant's items and the ids by which calls name them. Several of them share a
table in `Neighbours`: one's own, a stranger's with other ids, and a twin's with the very same ids.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

from skein.desk.api import NewCannedAnswer
from skein.desk.canned_answers import CannedAnswers
from skein.desk.taking import Taking
from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.models.event import Event, ParkedEvent, QueuedEvent
from skein.identity.api import NewKey
from skein.identity.api_keys import ApiKeys
from skein.inbound.api import NewService
from skein.knowledge.api import NewSource
from skein.knowledge.publishing import Publisher
from skein.knowledge.reading import SourceReader
from skein.knowledge.records import Sources
from skein.live.devices import Devices
from skein.memory.models.records import ConsolidationRecord, ReflectionRecord
from skein.models.api.chats import ChatChange
from skein.models.api.directory import AgentChange, NewLine, NewUser
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import Destination, Proposal
from skein.models.chats.consent import Consent, ConsentData
from skein.models.chats.desk import Holder
from skein.models.chats.media import MediaFile
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary
from skein.models.common.address import Route
from skein.models.common.base import NamedMember
from skein.models.common.storage import Item, Key, Put, Update
from skein.models.directory.address_index import TextConsent
from skein.models.directory.profile_change import ProfileSource
from skein.models.directory.role import HeldRole
from skein.models.directory.user import User
from skein.models.outbox.jobs import RecallJob
from skein.models.visibility.audience import OPEN as OPEN_TO_ALL
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import Authors
from skein.models.visibility.sharing_rules import SharingParty, SharingRuleFields
from skein.models.visibility.talk import SharingState
from skein.outreach.api import NewOutreach
from skein.outreach.outreaches import Outreaches
from skein.privacy.audit_log import AuditedAction
from skein.services.common.optimistic import revise
from skein.services.directory.profile_changes import set_by_agent
from skein.services.directory.text_consents import TextConsents
from skein.settings import Settings
from skein.sharing.rules import RuleChanges
from skein.trials.api import Candidate, NewCase, NewTrial
from skein.trials.models.trial import PlayResult, Unit
from skein.trials.records import CaseOwner, Cases
from skein.trials.trials import Trials
from skein.web_chat.api import NewWidget
from skein.web_chat.models.widget import PublicProfile
from skein.web_chat.widgets import Widgets
from skein.workspace import thread_changes
from skein.workspace.models.document import Document, DocumentReach, Folder
from skein.workspace.models.skill import SkillHead
from tests.fakes.table import MemoryTable
from tests.support.agents import END, actor, results_of, settle
from tests.support.builders import INVOCATION, LIVE_URL, NOON, TENANT, World, bot, person
from tests.support.choices import ask
from tests.support.fakes import ScriptedModel, calls
from tests.support.own_tools import LOOK_UP, SINGER, own_tool, singing, waiting_call
from tests.support.routes import sms_route
from tests.support.services import AllServices

PRIVATE: dict[str, Any] = {"visibility": "private", "respond": "mention"}
DIRECT: dict[str, Any] = {"visibility": "private", "kind": "direct", "respond": "mention"}
OPEN: dict[str, Any] = {"respond": "mention"}

MADE = {"GOAL": "goal_id", "PLAN": "plan_id", "FACT": "memory_id"}

Ids = dict[str, str]
SETTINGS = Settings(live_url=LIVE_URL, apns_application_arn="apns", fcm_application_arn="fcm")


@dataclass(frozen=True)
class Place:
    """A chat, and what its agent keeps of it.

    Attributes:
        word: Stands in all of it and nowhere else.
        ids: What calls name it all by, by kind.
    """

    word: str
    ids: Ids


@dataclass(frozen=True)
class TenantData:
    """One tenant.

    Attributes:
        own: What a call of the API names where nothing else is said, by the kind of thing.
        places: By name.
        marks: What must not reach anybody else: words, numbers and secrets.
        profile_word: Stands in Ann's profile and nowhere else.
        phones: The phone numbers of people, and the lines on which they write, by name.
        by_sms: The numbers of the direct chat in which Ben writes by SMS, by its id.
        files: The files in the bucket, by name.
    """

    tenant: str
    own: Ids
    places: dict[str, Place]
    marks: frozenset[str]
    profile_word: str
    phones: dict[str, str]
    by_sms: dict[str, Route]
    items: tuple[Item, ...]
    files: dict[str, bytes]
    people: dict[str, NamedMember]
    agents: dict[str, NamedMember]

    @property
    def words(self) -> dict[str, str]:
        """The word of each place."""
        return {name: place.word for name, place in self.places.items()}

    def owns(self, key: Key, item: Item) -> bool:
        """Whether something that is stored is this tenant's."""
        return item.get("tenant") == self.tenant or key.pk.startswith(f"{self.tenant}#")

    def moved(self, tenant: str, change: Mapping[str, str]) -> "TenantData":
        """The same under another tenant, with some texts in its ids replaced.

        Recorded prompts are packed and stay as they are, so words cannot be replaced this way.
        """
        texts = {TENANT: tenant, **change}
        places = {n: Place(p.word, _replaced(p.ids, texts)) for n, p in self.places.items()}
        return replace(
            self,
            tenant=tenant,
            own=_replaced(self.own, texts),
            places=places,
            items=_replaced(self.items, texts),
            files={_replaced(name, texts): file for name, file in self.files.items()},
        )


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, dict):
        return {_replaced(k, texts): _replaced(v, texts) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(inner, texts) for inner in value)
    return value


class _Furnisher:
    """Makes a tenant by living in it.

    Args:
        mark: Stands in its ids.
        words: Stands in its words.
        digit: Stands in its phone numbers.
        first_id: What its other ids are counted from.
    """

    def __init__(self, mark: str, *, words: str, digit: int, first_id: int = 0) -> None:
        self.mark = mark
        self.words = words
        self.world = World(settings=SETTINGS, model=ScriptedModel.saying(default=END))
        self.world.ids._last = first_id
        self.line = f"+1500555{digit}006"
        self.phone = f"+1500555{digit}100"
        self.bens = sms_route(line=f"+1500555{digit}007", phone=f"+1500555{digit}200")
        self.coach = bot(f"agt_{mark}1", "Coach")
        self.designer = bot(f"agt_{mark}2", "Designer")
        self.ann, self.ben, self.cara, self.dan, self.gone = (
            person(f"usr_{mark}{name.lower()}", name)
            for name in ("Ann", "Ben", "Cara", "Dan", "Gone")
        )
        self.profile_change = f"pch_{mark}1"
        self.skill = f"citron{words}-skill"
        self.tool = f"citron{words}_tool"
        self.server = f"citron{words}_server"
        self.free_skill = f"citron{words}-free"  # which no thread has
        self.places: dict[str, Place] = {}

    def _device(self) -> str:
        devices = self.world.app.get(Devices)
        return devices.register(TENANT, self.ann.id, "fcm", f"{self.mark:_<16}").id

    def data(self) -> TenantData:
        world = self.world
        actor(world, self.coach, system_prompt=f"Grow citron{self.words}")
        actor(world, self.designer)
        for who, phones in (
            (self.ben, (self.bens.person.address,)),
            *((who, ()) for who in (self.cara, self.dan, self.gone)),
        ):
            world.app.users.create(TENANT, NewUser(id=who.id, name=who.name, phones=phones))
        profile = {"preferences": f"likes pomelo{self.words}"}
        world.app.users.create(
            TENANT,
            NewUser(id=self.ann.id, name=self.ann.name, phones=(self.phone,), profile=profile),
        )
        self._fill_profile()
        for skill in (self.skill, self.free_skill):
            head = SkillHead(name=skill, description=f"About citron{self.words}")
            world.app.skills.put(TENANT, head, f"How to grow citron{self.words}")
        self.answer = f"citron{self.words}-answer"
        canned = NewCannedAnswer(name=self.answer, text=f"We sell citron{self.words}")
        world.app.get(CannedAnswers).create(TENANT, canned)
        told = NewEndpoint(url=f"https://citron{self.words}.example/", types=("erasure.done",))
        self.endpoint = world.app.get(EventEndpoints).create(TENANT, told).id
        ids = {"agent_id": self.coach.id, "chat_id": f"citron{self.words}"}
        lost = Event(
            tenant=TENANT,
            id=f"evt_{self.endpoint}",
            type="run.ended",
            lane="x",
            number="1",
            data=ids,
            at=NOON,
        )
        queued = QueuedEvent(tenant=TENANT, endpoint_id=self.endpoint, event=lost, queued_at=NOON)
        parked = ParkedEvent.of(queued, "down", NOON)
        world.table.write(Put(parked.key, parked.attributes()))
        self.approval = waiting_call(world, self.coach.id, tool=self.tool)
        own_tool(world, LOOK_UP, name=self.tool, description=f"About citron{self.words}")
        own_tool(world, SINGER, name=self.server)
        self._furnish()
        team = self.places["team"].ids
        own = self._kept() | team | {"run_id": team["done_run_id"]}
        items = [world.table.get(key) for key in world.table.all_keys()]
        return TenantData(
            tenant=TENANT,
            own=own,
            places=self.places,
            marks=frozenset(
                {
                    self.line,
                    self.phone,
                    self.bens.line.address,
                    self.bens.person.address,
                    f"pomelo{self.words}",
                    f"citron{self.words}",
                    self._secret,
                }
                | {place.word for place in self.places.values()}
            ),
            profile_word=f"pomelo{self.words}",
            phones={
                "Ann's line": self.line,
                "Ann's phone": self.phone,
                "Ben's line": self.bens.line.address,
                "Ben's phone": self.bens.person.address,
            },
            by_sms={self._chat_id("sms"): self.bens},
            items=tuple(item for item in items if item is not None),
            files=dict(world.files.contents),
            people={
                who.name.lower(): who
                for who in (self.ann, self.ben, self.cara, self.dan, self.gone)
            },
            agents={"coach": self.coach, "designer": self.designer},
        )

    def _fill_profile(self) -> None:
        """An agent's value in Ann's profile, which an operator can undo."""
        source = ProfileSource(
            made_by="consolidation",
            agent_id=self.coach.id,
            chat_id=self._chat_id("anns"),
            seqs=(1,),
            said_at=NOON,
        )
        ann = self.world.app.users.get(TENANT, self.ann.id)
        goal = f"grow pomelo{self.words}"
        given = set_by_agent(ann, "goals", goal, source, change_id=self.profile_change, now=NOON)
        self.world.table.write(revise(ann, given)[1])

    def _outreach(self) -> str:
        new = NewOutreach(
            people=(self.ann.id,),
            agent_id=self.coach.id,
            instruction=f"Ask about citron{self.words}",
            asked_by="Ben",
            not_before=NOON + timedelta(days=30),
        )
        return self.world.app.get(Outreaches).create(TENANT, "usr_op", new).id

    def _source(self) -> str:
        """A source for a role that nobody here has, with a URL and a text that is held back."""
        sources = self.world.app.get(Sources)
        new = NewSource(
            name=f"About citron{self.words}",
            text=f"We sell citron{self.words}.",
            audience="roles",
            roles=("gardener",),
        )
        source = sources.create(TENANT, new)
        self.world.app.get(SourceReader).take(source.job, deadline=self.world.clock.now())
        read = sources.get(TENANT, source.id)
        held = {"url": "https://shop.example/", "held": read.text, "state": "held"}
        self.world.app.get(Publisher).write(read, held)
        return source.id

    def _furnish(self) -> None:
        ann, ben, cara, dan, coach = self.ann, self.ben, self.cara, self.dan, self.coach
        by_phone = sms_route(line=self.line, phone=self.phone)
        self._place("team", "mango", coach, ann, ben, dan, **OPEN)
        self._place("anns", "guava", coach, ann, route=by_phone, **DIRECT)
        form = f"A form about citron{self.words}"
        consent = TextConsent(at=NOON, how="operator", by="usr_op", proof=form)
        self.world.app.get(TextConsents).give(TENANT, self.ann.id, self.phone, "sms", consent)
        self._place("pair", "lychee", coach, ann, cara, **PRIVATE)
        self._place("joined", "plum", coach, ann, **PRIVATE)
        self._place("designers", "kiwi", self.designer, ann, **OPEN)
        self._place("left", "quince", coach, ann, cara, keeps=False, **OPEN)
        self._place("discarded", "papaya", coach, ann, ben, keeps=False, **OPEN)
        chat = self._chat_id
        # Ann is here, too, so that the agent may change in this chat what it made in the team's.
        self.world.chat(ben, ann, coach, chat_id=chat("home"), title="Home", **OPEN)
        self._author_with_ben("team")
        self.world.chat(ben, coach, chat_id=chat("bens"), title="Ben", **DIRECT)
        self.world.chat(
            ben,
            coach,
            chat_id=chat("sms"),
            title="Ben by SMS",
            line=self.bens.line,
            route=self.bens,
            **DIRECT,
        )
        chat_admin = self.world.app.chat_admin
        chat_admin.remove_member(TENANT, chat("team"), ann.ref, dan.ref)
        chat_admin.remove_member(TENANT, chat("left"), ann.ref, coach.ref)
        chat_admin.discard(TENANT, chat("discarded"), ann.ref)
        # What Ben can see of it anyway, and so may be told.
        chat_admin.change(TENANT, chat("joined"), ann.ref, ChatChange(title="On trees"))
        self.world.add(ben, by=ann, chat_id=chat("joined"))
        self._hold(chat("desk"))  # which plays all that is queued so far
        for name in ("team", "anns", "pair", "designers"):
            place = self.places[name]
            agent = self.designer if name == "designers" else coach
            self.world.post(f"@{agent.name}, {place.word}?", ann, chat_id=chat(name))
            [queued] = [run for run in self.world.runs(chat(name)) if run.status == "queued"]
            place.ids["run_id"] = queued.id
            done = next(run for run in self.world.runs(chat(name)) if run.status == "done")
            place.ids["done_run_id"] = done.id
        pair = self.places["pair"]
        in_pair: dict[str, Any] = {"chat_id": chat("pair"), "agent": coach.ref}
        ask(self.world, ann, **in_pair, question=f"{pair.word}?")
        there = Destination(chat_id=chat("pair"), title="Pair", readers=OPEN_TO_ALL)
        words = Proposal(agent_id=coach.id, text=pair.word, destinations=(there,))
        data = ConsentData(proposal=words).attributes()
        proposed: dict[str, Any] = {"purpose": "consent", "data": data, "client_id": "words"}
        question = ask(self.world, ann, **in_pair, **proposed).message
        agreed = Consent.of(question, words, user_id=ann.id, at=self.world.clock.now())
        self.world.table.write(Put(agreed.key, agreed.attributes()))
        self._attach("team", ann)
        self._index()
        self._share()

    def _share(self) -> None:
        """A sharing rule of the tenant that covers what Ann says, of which her direct chat told."""
        changes, reason = self.world.app.get(RuleChanges), f"citron{self.words}"
        whose, whom = SharingParty(role="grower"), SharingParty(role="buyer")
        both = SharingRuleFields(name="Growers", reason=reason, from_=whose, to=whom)
        self.rule = changes.add(TENANT, both, by="usr_op").id
        held = HeldRole(role="grower", since=NOON).model_dump(mode="json", exclude_none=True)
        self.world.table.write(Update(User.key_of(TENANT, self.ann.id), set={"roles": [held]}))
        state = SharingState(
            person_id=self.ann.id, noticed={self.rule: 1}, talk_from=1, spoke_at=NOON
        )
        key = Chat.key_of(TENANT, self._chat_id("anns"))
        self.world.table.write(Update(key, set={"sharing": state.model_dump(mode="json")}))

    def _attach(self, name: str, sender: NamedMember) -> None:
        """Give the first message of a chat a file."""
        place, chat_id, now = self.places[name], self._chat_id(name), self.world.clock.now()
        file = MediaFile(
            tenant=TENANT,
            chat_id=chat_id,
            id=f"med_{self.mark}1",
            sender=sender,
            content_type="text/plain",
            state="ready",
            seq=1,
            excerpt=place.word,
            created_at=now,
            kept_until=now + timedelta(days=30),
        )
        message = Message.key_of(TENANT, chat_id, 1)
        named = [file.named().model_dump(mode="json")]
        self.world.table.write(Put(file.key, file.to_item()))
        self.world.table.write(Update(message, set={"files": named}))
        place.ids["media_id"] = file.id

    def _hold(self, chat_id: str) -> None:
        """A chat with the designer that an operator holds."""
        self.world.chat(self.ben, self.designer, chat_id=chat_id, title="Desk", **OPEN)
        self.world.post(f"Where is citron{self.words}?", self.ben, chat_id=chat_id)
        holder = Holder(id="usr_op", name=f"citron{self.words}")
        self.world.app.get(Taking).take(TENANT, chat_id, holder)

    def _author_with_ben(self, name: str) -> None:
        """Make Ben an author of what the agent made in a chat, as Ann is."""
        both = Authors.in_digests([self.ann.id, self.ben.id]).model_dump(mode="json")
        for key in self.world.table.all_keys():
            item = self.world.table.get(key) or {}
            if item.get("source_chat_id") == self._chat_id(name) and "authors" in item:
                self.world.table.write(Update(key, set={"authors": both}))

    def _index(self) -> None:
        """Index all messages for recall."""
        for name in ("team", "anns", "pair", "joined", "designers", "left", "discarded"):
            job = RecallJob(tenant=TENANT, chat_id=self._chat_id(name))
            deadline = self.world.clock.now() + INVOCATION
            self.world.app.recall_worker.take(job, deadline=deadline)

    def _chat_id(self, name: str) -> str:
        return f"chat_{self.mark}{name}"

    def _place(
        self,
        name: str,
        fruit: str,
        agent: NamedMember,
        *people: NamedMember,
        keeps: bool = True,
        **fields: Any,
    ) -> None:
        """A chat in which somebody said the word, and what the agent made of it with its tools."""
        word, chat_id, world = f"{fruit}{self.words}", self._chat_id(name), self.world
        world.chat(*people, agent, chat_id=chat_id, title=f"On {word}", **fields)
        ids = {
            "chat_id": chat_id,
            "word": word,
            "plan_name": f"The {word}-plan",
            "document": f"{word}-notes",
            "draft": f"{word}-draft",
            "board": f"{word}-board",
            "skill": self.skill,
            "free_skill": self.free_skill,
        }
        self.places[name] = Place(word, ids)
        if not keeps:
            world.post(f"It is {word}", people[0], chat_id=chat_id)
            return
        world.model.script.append(
            calls(
                ("set_goal", {"text": f"Mind the {word}"}),
                ("save_memory", {"text": f"They like {word}", "kind": "core"}),
                ("save_memory", {"text": f"They ate a {word}", "kind": "journal"}),
                (
                    "set_plan",
                    {"name": ids["plan_name"], "instruction": word, "run_after": "2 hours"},
                ),
                ("write_document", {"name": ids["document"], "text": f"On {word}"}),
                ("write_document", {"name": ids["draft"], "text": f"Draft on {word}"}),
                (
                    "write_document",
                    {"name": ids["board"], "text": f"Our {word}", "in_chat": True},
                ),
                (
                    "create_thread",
                    {
                        "concern": f"Growing {word}",
                        "documents": [ids["document"]],
                        "skills": [self.skill],
                    },
                ),
                ("send_message", {"text": f"I keep {word} in mind"}),
                "end_run",
            )
        )
        world.post(f"@{agent.name}, it is {word}", people[0], chat_id=chat_id)
        settle(world)
        ids |= self._made_in(chat_id)
        self.places[name] = Place(word, ids)

    def _made_in(self, chat_id: str) -> Ids:
        """The ids of what an agent has just made in a chat."""
        made = {}
        for key in self.world.table.all_keys():
            item = self.world.table.get(key) or {}
            kind = MADE.get(key.sk.split("#")[0])
            if item.get("source_chat_id") == chat_id and kind is not None:
                made[kind] = item["id"]
        assert made.keys() == set(MADE.values())
        [run] = self.world.runs(chat_id)
        results = "\n".join(result.content for result in results_of(self.world, run))
        begun = re.search(r"thread created, id: (\w+)", results)
        assert begun is not None
        return made | {"thread_id": begun[1]}

    def _kept(self) -> Ids:
        """What operators look at besides."""
        app = self.world.app
        for line in (self.line, self.bens.line.address):
            self.world.assign(line)
            app.lines.create(TENANT, NewLine(phone=line, agent_id=self.coach.id))
        app.agents.change(
            TENANT,
            self.coach.id,
            AgentChange(listed=True, description=f"Grows citron{self.words}"),
        )
        service = app.webhook_services.create(
            TENANT, NewService(name=f"Service citron{self.words}", agent_ids=(self.coach.id,))
        )
        self._secret = service.secret
        name = f"list{self.words}.md"
        for folder in (
            Folder(tenant=TENANT, agent_id=self.coach.id),
            Folder(tenant=TENANT, chat_id=self._chat_id("team")),
        ):
            reach = DocumentReach(folders=(folder,))
            app.documents.write(reach, name, f"All citron{self.words}", new_in=folder)
        erasure = app.erasures.request(TENANT, self.gone.id, by="usr_op")
        put = self.world.table.write
        where: dict[str, Any] = {"tenant": TENANT, "agent_id": self.coach.id, "at": NOON}
        remembered = ConsolidationRecord(
            chat_id=self._chat_id("team"),
            id=f"con_{self.world.ids.ulid()}",
            from_seq=1,
            to_seq=1,
            messages=1,
            failure=f"citron{self.words}",
            **where,
        )
        put(Put(remembered.key, remembered.to_item()))
        reflected = ReflectionRecord(
            id=f"ref_{self.world.ids.ulid()}", considered=(), failure=f"citron{self.words}", **where
        )
        put(Put(reflected.key, reflected.to_item()))
        by_ann = Authors.in_digests([self.ann.id])
        note = Summary(
            text=f"On citron{self.words}",
            from_seq=1,
            seq=1,
            audience=OPEN_TO_ALL,
            authors=by_ann,
            at=NOON,
        )
        place = Membership.key_of(TENANT, self._chat_id("team"), self.coach)
        put(Update(place, set={"summary": note.model_dump(mode="json")}))
        owner = Owner(tenant=TENANT, agent_id=self.coach.id)
        done = app.threads.create(owner, {"concern": f"Growing citron{self.words}"})
        app.threads.change(owner.reach, done.id, thread_changes.ended("completed", NOON))
        action = {"scope": "support", "verb": "read", "kind": "agent", "route": "GET /v1/agents"}
        ids = {"agent_id": f"citron{self.words}"}
        looked = AuditedAction(
            who="usr_op", ids=ids, reason=f"Looking for citron{self.words}", **action
        )
        app.audit.add(TENANT, looked, [self.ann.id])
        return {
            "agent_id": self.coach.id,
            "user_id": self.ann.id,
            "member_id": self.ben.id,
            "phone": self.line,
            "own_phone": self.phone,
            "profile_change_id": self.profile_change,
            "service_id": service.id,
            "device_id": app.get(Devices)
            .register(TENANT, self.ann.id, "fcm", f"{self.mark:_<16}")
            .id,
            "endpoint_id": self.endpoint,
            "key_id": self._key_id(app),
            "event_id": f"evt_{self.endpoint}",
            "erasure_id": erasure.id,
            "done_thread_id": done.id,
            "document_id": Document.id_of(name),
            "skill_name": self.skill,
            "answer_name": self.answer,
            "tool_name": self.tool,
            "server_name": self.server,
            "approval_id": self.approval,
            "desk_chat_id": self._chat_id("desk"),
            "outreach_id": self._outreach(),
            "direct_chat_id": self._chat_id("anns"),
            "rule_id": self.rule,
            "source_id": self._source(),
            "widget_id": self._widget(),
            **self._trial(),
        }

    def _widget(self) -> str:
        new = NewWidget(
            agent_id=self.coach.id,
            origins=("https://shop.example",),
            public=PublicProfile(name=f"Widget citron{self.words}"),
        )
        return self.world.app.get(Widgets).create(TENANT, new).id

    def _case(self) -> str:
        """A case of a private run, whose name tells of it."""
        pair = self.places["pair"]
        new = NewCase(
            name=f"About {pair.word}",
            run_id=pair.ids["done_run_id"],
            expect=({"says": (pair.word,)},),
            results=({"tool": self.tool, "result": pair.word},),
        )
        owner = CaseOwner(TENANT, self.coach.id, private=True)
        return self.world.app.get(Cases).create(owner, new).case.id

    def _trial(self) -> dict[str, str]:
        """A trial of a case of a private run, whose result tells of it."""
        pair, app = self.places["pair"], self.world.app
        case_id, trials = self._case(), app.get(Trials)
        candidate = Candidate(changes=AgentChange.model_validate({"system_prompt": "New"}))
        owner = CaseOwner(TENANT, self.coach.id, private=True)
        view = trials.start(owner, NewTrial(candidate=candidate, cases=(case_id,)))
        trial, [case] = view.trial, view.cases
        unit = Unit(trial_id=trial.id, case_id=case_id, side="candidate", n=1)
        result = PlayResult(
            tenant=TENANT, agent_id=self.coach.id, **unit.model_dump(), mark="failed",
            missing=(pair.word,), texts=(pair.word,), calls=(pair.word,), questions=(pair.word,),
            effects=(pair.word,), usage={}, seconds=1, expires_at=trial.expires_at,
        )  # fmt: skip
        self.world.table.write(Put(case.key_of_result(unit), result.attributes()))
        return {"case_id": case_id, "trial_id": trial.id}

    def _key_id(self, app: AllServices) -> str:
        """Make an API key, and one with the operator's id, for the calls that need a key."""
        roles: Any = {"roles": ("tokens",)}
        new = NewKey(name=f"Growing citron{self.words}", **roles)
        made = app.get(ApiKeys).create(TENANT, new, by="usr_op", roles=("privacy",))
        own = made.model_copy(update={"id": "usr_op"})
        self.world.table.write(Put(own.key, own.to_item()))
        return made.id


class Neighbours(World):
    """A world in which three tenants live, with all queues empty.

    Attributes:
        ours: Whose people and agents act.
        others: Tenants that must not notice: a stranger with other ids, and a twin with ours.
    """

    def __post_init__(self) -> None:
        self.settings = SETTINGS
        super().__post_init__()
        self.ours, *others = _street()
        self.others = tuple(others)
        self.table.copy(_shared_table())
        for tenant in (self.ours, *self.others):
            self.files.contents |= tenant.files
        self.service.answer = singing
        self.ids._last = 500_000
        self.clock.advance(3_600)
        self.assign(NEW_LINE)
        self._before = _shared_texts()

    def begin(self) -> None:
        """Make what is stored now the first state."""
        self._before = {**self._before, **self.table.all_touched()}
        self.table.touched.clear()

    def changed(self) -> Iterator[tuple[Key, Item]]:
        """Each item that differs from the first state: as it is now or, if deleted, as it was."""
        for key, text in self.table.all_touched().items():
            if self._before.get(key) != text:
                item = self.table.get(key)
                yield key, item or {"was": self._before[key], "tenant": key.pk.split("#")[0]}


NEW_LINE = "+15005559006"  # a number of the tenant that is no line yet
STRANGER, TWIN = "zenith", "geminy"


@cache
def _street() -> tuple[TenantData, TenantData, TenantData]:
    ours = _Furnisher("q", words="q", digit=1).data()
    stranger = _Furnisher("z", words="z", digit=3, first_id=100_000).data()
    twin = _Furnisher("q", words="y", digit=2).data()
    return (
        ours,
        stranger.moved(STRANGER, {}),
        twin.moved(TWIN, {"svc_000": "svc_999", "wgt_000": "wgt_999"}),
    )


@cache
def _shared_texts() -> Mapping[Key, str | None]:
    return _shared_table().all_stored()


@cache
def _shared_table() -> MemoryTable:
    table = MemoryTable()
    for home in _street():
        for item in home.items:
            table.write(Put(Key(item["pk"], item["sk"]), item))
    return table
