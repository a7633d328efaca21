"""Outreach over the API: who is written to, when, how often, and what the report says."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

import admin_api
from skein.errors import Unavailable
from skein.models.common.reason import Reason
from skein.models.common.storage import Query, Update, Write
from skein.models.config.overrides import TenantOverridesChange
from skein.models.runs.completion import ModelRequest
from skein.privacy.models.audit import AuditEntry
from skein.services.config.tenant_settings import TenantSettingsService
from skein.settings import Settings
from tests.support.api_client import Answer, Client
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, says
from tests.support.first_contact import reachable, text_in

PHONES = {name: f"+1500555{number:04d}" for number, name in enumerate(("ann", "ben", "cat"), 101)}
PEOPLE = [f"usr_{name}" for name in PHONES]
QUESTION = "Ask which evenings suit."


class Club(World):
    """Three people who have consented to texts, and Coach, who has a line."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.line()
        for name, phone in PHONES.items():
            reachable(self, f"usr_{name}", name.title(), phone)
        self.admin = Client(self, admin_api, sub="usr_op", scope="support")

    def begin(self, **given: Any) -> Answer:
        body = {"people": PEOPLE, "agent_id": "agt_a", "asked_by": "Alice Ward"}
        return self.admin.call("POST", "/v1/outreach", body | {"instruction": QUESTION} | given)

    def minutes_pass(self, minutes: int = 1) -> None:
        for _ in range(minutes):
            self.run_ready()
            self.clock.advance(60)
            self.tick()
            self.drain()

    def report(self, outreach_id: str) -> Mapping[str, Any]:
        body: Mapping[str, Any] = self.admin.get(f"/v1/outreach/{outreach_id}").body
        return body

    def change(self, outreach_id: str, status: str) -> Answer:
        return self.admin.call("PATCH", f"/v1/outreach/{outreach_id}", {"status": status})

    @property
    def texted(self) -> dict[str, list[str]]:
        """The SMS to each person."""
        names = {phone: name for name, phone in PHONES.items()}
        found: dict[str, list[str]] = {}
        for sms, _ in self.sms.taken:
            found.setdefault(names[sms.phone], []).append(sms.body)
        return found


@pytest.fixture
def club() -> Club:
    return Club(model=ScriptedModel.saying(default=lambda _: "Which evenings suit you?"))


def states(report: Mapping[str, Any]) -> dict[str, str]:
    return {each["user_id"].removeprefix("usr_"): each["state"] for each in report["people"]}


INTRODUCTION = "Coach here, for Alice Ward. Reply STOP to get no more texts."


@pytest.mark.parametrize("how", ["instruction", "text"])
def test_each_person_is_written_to_once_and_the_report_follows(club: Club, how: str) -> None:
    words = {"text": "Which evenings suit you?", "instruction": None}
    created = club.begin(**(words if how == "text" else {}))
    assert created.status == 201, created.body
    outreach_id = created.body["id"]
    assert states(club.report(outreach_id)) == dict.fromkeys(PHONES, "waiting")

    club.minutes_pass(3)

    body = f"{INTRODUCTION}\nWhich evenings suit you?"
    assert club.texted == {name: [body] for name in PHONES}
    text_in(club, "Mondays", phone=PHONES["ann"])
    club.drain()
    report = club.report(outreach_id)
    assert states(report) == {"ann": "answered", "ben": "sent", "cat": "sent"}
    assert report["counts"] == {"answered": 1, "sent": 2}
    assert [each["id"] for each in club.admin.get("/v1/outreach").body["items"]] == [outreach_id]


def test_same_client_id_creates_one_outreach(club: Club) -> None:
    first = club.begin(client_id="may", text="Hello", instruction=None)
    club.minutes_pass(2)
    again = club.begin(client_id="may", text="Hello", instruction=None)
    club.minutes_pass(2)
    assert again.body["id"] == first.body["id"]
    assert {name: len(texts) for name, texts in club.texted.items()} == dict.fromkeys(PHONES, 1)


def test_answer_finds_the_outreach_in_the_prompt_of_its_chat_alone(club: Club) -> None:
    outreach_id = club.begin(people=PEOPLE[:1]).body["id"]
    club.minutes_pass(2)
    text_in(club, "Mondays", phone=PHONES["ann"])
    text_in(club, "Hello", "SM2", phone=PHONES["ben"])
    club.known(person())
    club.chat(person(), person("usr_ann", "Ann"), bot())
    club.post("Coach?", person())
    club.drain()

    first, *later = [str(request.messages) for request in club.model.requests]
    [ann] = [prompt for prompt in later if "Mondays" in prompt]
    others = [prompt for prompt in later if prompt != ann]

    [chat_id] = [each["chat_id"] for each in club.report(outreach_id)["people"]]
    assert "OUTREACH" not in first  # TRIGGER has the instruction there
    assert QUESTION in first
    assert 'for "Alice Ward"' in ann
    assert QUESTION in ann
    assert len(others) == 2
    assert QUESTION not in str(others)
    assert club.texts(chat_id)[-2] == "Mondays"


@pytest.mark.parametrize("when", ["writing", "answering"])
def test_model_cannot_post_outreach_content_to_other_chats(when: str) -> None:
    tells = says(QUESTION, chat_id="chat_1")
    script = (tells,) if when == "writing" else ("Which evenings suit you?", tells)
    club = Club(model=ScriptedModel.saying(*script, default="Done."))
    club.agent(enabled_tools=("send_message",))
    club.known(person())
    club.chat(person(), bot(), respond="manual")

    club.begin(people=PEOPLE[:1])
    club.minutes_pass(2)
    text_in(club, "Mondays", phone=PHONES["ann"])
    club.minutes_pass(2)

    assert not club.model.script
    assert club.texts() == []


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"people": ["usr_none"]}, 422),
        ({"people": []}, 422),
        ({"agent_id": "agt_none"}, 422),
        ({"text": "Both"}, 422),
        ({"instruction": None}, 422),
        ({"asked_by": None}, 422),
        ({"not_after": "2026-02-18T11:00:00Z"}, 422),
        ({"template": "HX" + "0" * 32}, 422),
    ],
)
def test_outreach_that_does_not_fit_is_refused(
    club: Club, given: dict[str, Any], status: int
) -> None:
    assert club.begin(**given).status == status
    assert club.admin.get("/v1/outreach").body["items"] == []


def test_outreach_with_person_without_consent_is_rejected_and_sends_nothing(club: Club) -> None:
    text_in(club, "STOP", phone=PHONES["ben"])
    refused = club.begin()
    assert refused.status == 409
    details = refused.body["details"]
    assert details == {"user_ids": ["usr_ben"], "reason": "no_consent"}
    club.minutes_pass()
    assert "ann" not in club.texted


def test_stop_before_the_turn_of_a_person_is_heard(club: Club) -> None:
    outreach_id = club.begin(not_before="2026-02-18T13:00:00Z").body["id"]
    text_in(club, "STOP", phone=PHONES["ben"])
    club.clock.advance(3_600)
    club.minutes_pass(3)
    report = club.report(outreach_id)
    assert states(report) == {"ann": "sent", "ben": "refused", "cat": "sent"}
    [ben] = [each for each in report["people"] if each["user_id"] == "usr_ben"]
    assert ben["reason"] == Reason.NO_CONSENT


def test_people_are_written_to_at_the_pace_of_the_line() -> None:
    club = Club(
        settings=Settings(long_code_segments_per_minute=6),
        model=ScriptedModel.saying(default=lambda _: "Hi"),
    )
    outreach_id = club.begin(text="Hi", instruction=None).body["id"]
    club.run_ready()
    turns = [each["next_at"][11:19] for each in club.report(outreach_id)["people"]]
    assert turns == ["12:00:00", "12:01:00", "12:02:00"]


def test_outreach_in_quiet_hours_is_written_at_their_end_in_turn(club: Club) -> None:
    late = NOON + timedelta(hours=10)
    club.clock.set(late)
    outreach_id = club.begin().body["id"]
    club.minutes_pass(2)
    people = club.report(outreach_id)["people"]
    assert {each["reason"] for each in people} == {Reason.QUIET_HOURS}
    assert [each["next_at"][:19] for each in people] == [
        "2026-02-19T08:00:00",
        "2026-02-19T08:00:06",
        "2026-02-19T08:00:12",
    ]
    assert club.texted == {}


def test_paused_outreach_contacts_no_one_until_resumed(club: Club) -> None:
    outreach_id = club.begin().body["id"]
    assert club.change(outreach_id, "paused").status == 200
    club.minutes_pass(7)
    assert club.texted == {}
    club.change(outreach_id, "active")
    club.minutes_pass(7)
    assert len(club.texted) == len(PHONES)


def test_canceled_outreach_contacts_no_more_people(club: Club) -> None:
    outreach_id = club.begin(not_before="2026-02-18T13:00:00Z").body["id"]
    assert club.change(outreach_id, "canceled").body["status"] == "canceled"
    assert club.change(outreach_id, "active").status == 409
    assert states(club.report(outreach_id)) == dict.fromkeys(PHONES, "canceled")
    club.clock.advance(3_600)
    club.minutes_pass(2)
    assert club.texted == {}
    assert states(club.report(outreach_id)) == dict.fromkeys(PHONES, "canceled")


@pytest.mark.parametrize("how", ["instruction", "text"])
@pytest.mark.parametrize("status", ["paused", "canceled"])
def test_worker_that_read_an_active_outreach_writes_nothing_after_the_change(
    how: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    club = Club(model=ScriptedModel.saying(default=lambda _: "Hi"))
    words = {"text": "Hi", "instruction": None} if how == "text" else {}
    outreach_id = club.begin(people=PEOPLE[:1], **words).body["id"]
    transact, person_key = club.table.transact, f"PERSON#{PEOPLE[0]}"

    def late(writes: Sequence[Write]) -> None:
        if any(isinstance(write, Update) and write.key.sk == person_key for write in writes):
            monkeypatch.undo()
            club.change(outreach_id, status)
        transact(writes)

    monkeypatch.setattr(club.table, "transact", late)
    club.minutes_pass(3)
    assert club.texted == {}
    assert club.model.requests == []
    expected = "waiting" if status == "paused" else "canceled"
    assert states(club.report(outreach_id)) == {"ann": expected}


@pytest.mark.parametrize("when", ["thinking", "down"])
def test_run_of_a_canceled_outreach_posts_nothing(when: str) -> None:
    def cancels(_: ModelRequest) -> str:
        club.change(outreach_id, "canceled")
        if when == "down":
            raise Unavailable("the model is down")
        return "Hi"

    club = Club(model=ScriptedModel.saying(cancels, default="Hi"))
    outreach_id = club.begin(people=PEOPLE[:1]).body["id"]
    club.minutes_pass(10)
    assert club.texted == {}
    [ann] = club.report(outreach_id)["people"]
    assert (ann["state"], ann["reason"]) == ("canceled", Reason.STOPPED_BY_OPERATOR)
    assert len(club.model.requests) == 1


def test_run_of_a_paused_outreach_posts_its_answer_after_the_pause() -> None:
    def pauses(_: ModelRequest) -> str:
        club.change(outreach_id, "paused")
        return "Hi"

    club = Club(model=ScriptedModel.saying(pauses))
    outreach_id = club.begin(people=PEOPLE[:1]).body["id"]
    club.minutes_pass(20)
    [ann] = club.report(outreach_id)["people"]
    assert (ann["state"], ann["reason"], club.texted) == ("writing", Reason.PAUSED, {})
    club.change(outreach_id, "active")
    club.minutes_pass(20)
    assert club.texted == {"ann": [f"{INTRODUCTION}\nHi"]}


def test_answer_of_a_person_is_heard_after_the_outreach_is_canceled() -> None:
    asks = says("Which evenings?", wait=True)
    club = Club(model=ScriptedModel.saying(asks, default="Thank you."))
    club.agent(reply_mode="tools", enabled_tools=("send_message",))
    outreach_id = club.begin(people=PEOPLE[:1]).body["id"]
    club.minutes_pass(2)
    club.change(outreach_id, "canceled")
    club.model.script.append(says("Thank you."))
    text_in(club, "Mondays", phone=PHONES["ann"])
    club.minutes_pass(2)
    assert club.texted["ann"][1:] == ["Thank you."]


def test_outreach_after_not_after_contacts_no_one(club: Club) -> None:
    outreach_id = club.begin(not_after="2026-02-18T12:30:00Z").body["id"]
    club.change(outreach_id, "paused")
    club.minutes_pass(31)
    club.change(outreach_id, "active")
    club.minutes_pass(6)
    assert states(club.report(outreach_id)) == dict.fromkeys(PHONES, "expired")


def test_erased_person_is_in_no_outreach(club: Club) -> None:
    outreach_id = club.begin().body["id"]
    club.minutes_pass(2)
    privacy = Client(club, admin_api, sub="usr_op", scope="privacy")
    privacy.call("DELETE", "/v1/users/usr_ben")
    for _ in range(4):
        club.clock.advance(1_000)
        club.tick()
        club.drain()
    assert set(states(club.report(outreach_id))) == {"ann", "cat"}


def test_number_that_opted_out_before_an_erasure_is_not_written_to_until_it_consents(
    club: Club,
) -> None:
    text_in(club, "STOP", phone=PHONES["ben"])
    privacy = Client(club, admin_api, sub="usr_op", scope="privacy")
    privacy.call("DELETE", "/v1/users/usr_ben")
    for _ in range(4):
        club.clock.advance(1_000)
        club.tick()
        club.drain()
    texted = len(club.sms.taken)
    assert not [item for item in map(str, club.table.all_items()) if PHONES["ben"] in item]

    reachable(club, "usr_new", "Ben again", PHONES["ben"])
    outreach_id = club.begin(people=["usr_new"]).body["id"]
    club.minutes_pass(2)
    [new] = club.report(outreach_id)["people"]
    assert (new["state"], new["reason"], len(club.sms.taken)) == (
        "refused",
        Reason.OPTED_OUT,
        texted,
    )
    text_in(club, "START", "SM9", phone=PHONES["ben"])
    club.minutes_pass(2)
    outreach_id = club.begin(people=["usr_new"]).body["id"]
    club.minutes_pass(2)
    assert states(club.report(outreach_id)) == {"new": "sent"}


def test_outreach_report_shows_an_agents_silence_with_its_reason() -> None:
    club = Club(model=ScriptedModel.saying("[silence]", default="Hi"))
    outreach_id = club.begin(people=PEOPLE[:1]).body["id"]
    club.minutes_pass(2)
    [ann] = club.report(outreach_id)["people"]
    assert (ann["state"], ann["reason"]) == ("silent", Reason.CHOSE_SILENCE)


def test_chat_on_the_desk_is_written_to_after_its_return(club: Club) -> None:
    text_in(club, "Hello", phone=PHONES["ann"])
    club.drain()
    [chat] = club.admin.get("/v1/users/usr_ann/chats").body["items"]
    mia = Client(club, admin_api, sub="usr_mia", scope="privacy")
    path, why = f"/v1/chats/{chat['chat_id']}/desk", {"reason": "She asked for a person"}
    taken = mia.call("PUT", path, {"holder": "me"}, query=why)
    assert taken.status < 300, taken.body
    outreach_id = club.begin(people=PEOPLE[:1]).body["id"]
    club.minutes_pass(2)
    [ann] = club.report(outreach_id)["people"]
    assert (ann["state"], ann["reason"]) == ("waiting", Reason.DESK)


def test_calls_are_audited(club: Club) -> None:
    outreach_id = club.begin().body["id"]
    page = club.table.query(Query(AuditEntry.partition(TENANT, NOON.date())))
    [entry] = map(AuditEntry.from_item, page.items)
    assert (entry.verb, entry.kind, entry.who) == ("create", "outreach", "usr_op")
    assert entry.ids == {"outreach_id": outreach_id}


def test_outreach_without_asker_uses_the_team_name(club: Club) -> None:
    change = TenantOverridesChange(team_name="Acme")
    TenantSettingsService(table=club.table, clock=club.clock).change(TENANT, change)
    assert club.begin(asked_by=None).body["asked_by"] == "Acme"


def test_text_by_whatsapp_goes_by_the_named_template(club: Club) -> None:
    texts = {"Hello: {{1}}": "1", "A note: {{1}}": "2"}
    templates = [
        {"content_sid": f"HX{number:0>32}", "text": text, "approved": True}
        for text, number in texts.items()
    ]
    change = TenantOverridesChange.model_validate({"message_templates": templates})
    TenantSettingsService(table=club.table, clock=club.clock).change(TENANT, change)
    club.line(channels=("whatsapp",))
    reachable(club, "usr_ann", "Ann", PHONES["ann"], channel="whatsapp")
    named = templates[1]["content_sid"]

    club.begin(people=PEOPLE[:1], text="Which evenings?", instruction=None, template=named)
    club.minutes_pass(2)

    [(sms, _)] = club.sms.taken
    assert sms.content is not None
    assert sms.content.sid == named
    assert sms.body == f"A note: {INTRODUCTION} Which evenings?"


def test_limit_of_a_person_defers_outreach() -> None:
    club = Club(
        settings=Settings(user_first_contacts_per_day=1),
        model=ScriptedModel.saying(default=lambda _: "Hi"),
    )
    club.begin(people=PEOPLE[:1])
    club.minutes_pass(2)
    second = club.begin(people=PEOPLE[:1]).body["id"]
    club.minutes_pass(2)
    [ann] = club.report(second)["people"]
    assert (ann["state"], ann["reason"]) == ("waiting", Reason.RATE_LIMITED)
    assert len(club.texted["ann"]) == 1
