"""Words told by a sharing rule are posted only while the rule, and its people, still stand."""

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from skein.errors import ReadersChanged
from skein.models.common.address import phone_address
from skein.models.common.base import NamedMember, rfc3339
from skein.models.common.storage import Put
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.user import User
from skein.models.runs.completion import ModelRequest
from skein.models.runs.run import Run
from skein.models.visibility.sharing_rules import SharingStamp
from skein.recall import search
from skein.services.replies.sharing_notices import MAX_LISTED
from tests.support.api_client import Client
from tests.support.builders import NOON, TENANT, person
from tests.support.fakes import Calls, calls
from tests.support.family import COACH, EMMA, RINA, TOM, Family, chat_of
from tests.support.live import connect
from tests.support.number_codes import link_number

SECRET = "The piano lesson with Mrs Okafor moved to Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"
ANSWER = "The lesson is on Thursday, in Room Nine"
EMMAS_PHONE, TOMS_PHONE = "+15005550111", "+15005550112"
Meanwhile = Callable[[Family], object]


def words_of(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


def emma_is_erased(family: Family) -> None:
    family.app.erasures.request(TENANT, EMMA.id, by="usr_op")


def emma_is_merged_into_another(family: Family) -> None:
    family.known(person("usr_emma2", "Emma Two"))
    link_number(family, "usr_emma2", EMMAS_PHONE)


def tom_is_merged_into_another(family: Family) -> None:
    family.known(person("usr_tom2", "Tom Two"))
    link_number(family, "usr_tom2", TOMS_PHONE)


def tom_loses_his_role(family: Family) -> None:
    family.give(TOM)


def tom_gets_a_second_subject(family: Family) -> None:
    roles = [{"role": "father", "subject": RINA.id}, {"role": "tutor", "subject": EMMA.id}]
    assert family.operator.patch(f"/v1/users/{TOM.id}", {"roles": roles}).status == 200


def emma_keeps_the_talk(family: Family) -> None:
    family.post("PRIVATE", EMMA, chat_id=chat_of(EMMA))


def tom_turns_it_off(family: Family) -> None:
    assert Client(family, sub=TOM.id).patch("/v1/me/sharing", {"receives": False}).status == 200


def rule_is_deleted(family: Family) -> None:
    [rule] = family.operator.get("/v1/sharing-rules").body["items"]
    assert family.operator.delete(f"/v1/sharing-rules/{rule['id']}").status == 204


def rina_keeps_the_talk(family: Family) -> None:
    family.post("PRIVATE", RINA, chat_id=chat_of(RINA))
    sharing = family.stored_chat(chat_of(RINA)).sharing
    assert sharing is not None
    assert sharing.private


def rina_turns_it_off(family: Family) -> None:
    assert Client(family, sub=RINA.id).patch("/v1/me/sharing", {"receives": False}).status == 200


def rina_loses_her_role(family: Family) -> None:
    family.give(RINA)


def rina_is_erased(family: Family) -> None:
    family.app.erasures.request(TENANT, RINA.id, by="usr_op")


def rinas_chat_is_discarded(family: Family) -> None:
    family.app.chat_admin.discard(TENANT, chat_of(RINA), RINA.ref)


def emma_writes_more(family: Family) -> None:
    family.post("By the way, I like tea.", EMMA, chat_id=chat_of(EMMA))


def another_rule_is_made(family: Family) -> None:
    family.rule(to="neighbour")


def chat_is_discarded(family: Family) -> None:
    family.app.chat_admin.discard(TENANT, chat_of(EMMA), EMMA.ref)


def rule_reaches_its_end(family: Family) -> None:
    family.clock.advance(3_600)


def rule_is_shortened_and_reaches_its_end(family: Family) -> None:
    [rule] = family.operator.get("/v1/sharing-rules").body["items"]
    ends_at = rfc3339(family.clock.now() + timedelta(seconds=1))
    changed = family.operator.patch(f"/v1/sharing-rules/{rule['id']}", {"ends_at": ends_at})
    assert changed.status == 200, changed.body
    family.clock.advance(1)


MEANWHILE = (
    emma_is_erased,
    emma_is_merged_into_another,
    tom_is_merged_into_another,
    tom_loses_his_role,
    tom_gets_a_second_subject,
    tom_turns_it_off,
    emma_keeps_the_talk,
    rule_is_deleted,
    chat_is_discarded,
    rule_reaches_its_end,
    rule_is_shortened_and_reaches_its_end,
)
WITHOUT_EFFECT = (
    rina_keeps_the_talk,
    rina_turns_it_off,
    rina_loses_her_role,
    rina_is_erased,
    rinas_chat_is_discarded,
    emma_writes_more,
    another_rule_is_made,
)


def texter(family: Family, one: NamedMember, phone: str) -> None:
    """Let a person be one whom only a number is known of, so that an account can take them over."""
    address = phone_address(phone)
    made = {"tenant": TENANT, "created_at": NOON, "caller": True, "addresses": (address,)}
    user = User.model_validate({"id": one.id, "name": one.name} | made)
    owner = AddressOwner(tenant=TENANT, address=address, user_id=one.id)
    family.table.write(Put(user.key, user.to_item()))
    family.table.write(Put(owner.key, owner.to_item()))


@pytest.fixture
def family() -> Family:
    """Tom may be told what Emma said, as both have one subject, for less than an hour more."""
    return Family.with_model().continue_from(_told())


@cache
def _told() -> Family:
    family = Family.made()
    texter(family, EMMA, EMMAS_PHONE)
    texter(family, TOM, TOMS_PHONE)
    family.give(EMMA, "daughter", subject=RINA.id)
    family.give(TOM, "father", subject=RINA.id)
    ends_at = rfc3339(family.clock.now() + timedelta(minutes=45))
    family.rule(same_subject=True, ends_at=ends_at)
    family.tells(EMMA, SECRET)
    return family


@pytest.mark.parametrize("meanwhile", MEANWHILE, ids=lambda change: change.__name__)
@pytest.mark.parametrize("by_tool", [False, True], ids=["in the prompt", "by the tool"])
def test_answer_with_shared_words_is_not_posted_after_a_rule_change_during_the_model_call(
    family: Family, meanwhile: Meanwhile, by_tool: bool
) -> None:
    shown = []

    def answer(request: ModelRequest) -> str:
        shown.append(SECRET in words_of(request))
        meanwhile(family)
        return ANSWER

    if by_tool:
        family.agent(COACH.id, enabled_tools=("recall", "end_run"), settings={"recall_tokens": 0})
        family.model.script.append(calls(("recall", {"query": ASKED})))
    family.model.script.append(answer)
    family.says(TOM, ASKED)
    assert shown == [True]
    assert [each.text for each in family.messages(chat_of(TOM)) if each.run_id] == ["Fine."]
    assert SECRET not in words_of(family.model.requests[-1])


@pytest.mark.parametrize("meanwhile", WITHOUT_EFFECT, ids=lambda change: change.__name__)
def test_answer_with_shared_words_is_posted_after_an_unrelated_change(
    family: Family, meanwhile: Meanwhile
) -> None:
    family.give(RINA, "daughter", subject=RINA.id)
    family.says(RINA, "Hello there, how are you?")

    told: list[set[str]] = []

    def then(_: ModelRequest) -> Calls:
        return calls(("recall", {"query": "tea"}))  # its step records what the prompt told

    def answer(_: ModelRequest) -> str:
        stamp = family.runs(chat_of(TOM))[-1].sharing_stamp
        told.append(set(stamp.versions) if stamp is not None else set())
        meanwhile(family)
        return ANSWER

    family.model.script += [then, answer]
    family.post(ASKED, TOM, chat_id=chat_of(TOM))
    family.drain()
    assert [each.text for each in family.messages(chat_of(TOM)) if each.run_id] == [ANSWER]
    [run] = family.runs(chat_of(TOM))
    assert (told, run.rebuilds, run.sharing) == ([{EMMA.id, TOM.id}], 0, None)


def test_run_receives_shared_words_of_a_limited_number_of_people(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_PEOPLE", 1)  # Tom, who reads, is the first
    assert SECRET not in family.prompt_of(TOM, ASKED)
    monkeypatch.setattr(search, "MAX_PEOPLE", 2)
    assert SECRET in family.prompt_of(TOM, ASKED)


def test_stored_run_of_release_0_3_0_with_shared_words_is_rebuilt(family: Family) -> None:
    family.says(TOM, ASKED)
    item = family.runs(chat_of(TOM))[-1].attributes()
    assert item["held"]["sharing_epoch"] == -1  # no epoch, so that release builds it again, too
    stored = Run.from_item(item | {"held": {**item["held"], "sharing_epoch": 0}})
    assert stored.sharing_stamp is None
    assert not stored.tells_shared(family.table, family.clock.now())


def test_retry_of_an_answer_that_was_posted_before_the_rule_ended_finds_it(family: Family) -> None:
    ends_at = family.clock.now() + timedelta(minutes=1)
    stamp = SharingStamp(epoch=0, versions={}, ends_at=ends_at)
    given: dict[str, Any] = {"chat_id": chat_of(TOM), "client_id": "1", "sharing_stamp": stamp}
    posted = family.post(ANSWER, COACH, **given).message
    family.clock.advance(60)
    again = family.post(ANSWER, COACH, **given)
    assert (again.message.id, again.created) == (posted.id, False)
    with pytest.raises(ReadersChanged):
        family.post(ANSWER, COACH, **given | {"client_id": "2"})


def test_many_new_rules_come_with_one_notice_of_bounded_length() -> None:
    family = Family.made()
    for number in range(30):
        family.rule(to=f"father {number}", reason=f"Because of {number}: {'long ' * 30}")
    family.says(EMMA, "Hello there, how are you?")
    notice, answer = family.messages(chat_of(EMMA))[1:]
    assert (notice.kind, answer.text) == ("notice", "Fine.")
    assert "father 0 (Because of 0: long" in notice.text
    assert "more. Write PRIVATE" in notice.text
    assert len(notice.text) < MAX_LISTED + 300
    sharing = family.stored_chat(chat_of(EMMA)).sharing
    assert sharing is not None
    assert len(sharing.noticed) == 30


@pytest.mark.parametrize("rules", [7, 12])
def test_seven_rules_and_more_leave_answers_as_they_are(rules: int) -> None:
    family = Family.made()
    for number in range(rules):
        family.rule(to=f"father {number}", reason="They live together.")
    family.says(EMMA, "Hello there, how are you?")
    notice, answer = family.messages(chat_of(EMMA))[1:]
    assert answer.text == "Fine."
    assert notice.text.count("They live together.") == rules


def test_answer_stream_sends_no_shared_words_after_the_rule_is_deleted(family: Family) -> None:
    [rule] = family.operator.get("/v1/sharing-rules").body["items"]
    connect(family, TOM.id, "tom")

    def passes(said: str) -> None:
        if said.endswith("Thursday, "):
            family.operator.delete(f"/v1/sharing-rules/{rule['id']}")
        family.clock.advance(0.3)
        family.background.finish(0)

    family.model.between = passes
    family.model.script.append(ANSWER)
    family.says(TOM, ASKED)
    frames = family.sockets.frames("tom")
    sent = "".join(str(frame.get("text", f"<{frame['type']}>")) for frame in frames)
    assert sent.startswith("The lesson")
    assert "Nine" not in sent
    assert "<retract>" in sent


def test_tools_save_no_shared_words_after_the_rule_is_deleted(family: Family) -> None:
    [rule] = family.operator.get("/v1/sharing-rules").body["items"]
    saves = calls(("save_memory", {"text": ANSWER, "kind": "core"}))

    def withdrawn(_: ModelRequest) -> Calls:
        family.operator.delete(f"/v1/sharing-rules/{rule['id']}")
        return saves

    family.model.script.append(withdrawn)
    family.says(TOM, ASKED)
    assert ANSWER not in family.prompt_of(TOM, "What do you know of the lesson?")


def test_run_whose_rules_keep_changing_answers_without_shared_words(family: Family) -> None:
    shown = []
    emma = Client(family, sub=EMMA.id)

    def answer(request: ModelRequest) -> str:
        shown.append(SECRET in words_of(request))
        withdrawn = {"from_seq": len(shown), "to_seq": len(shown)}  # other words than the secret
        kept = emma.post(f"/v1/chats/{chat_of(EMMA)}/sharing/withdraw", withdrawn)
        assert kept.status == 200, kept.body
        return f"answer {len(shown)}"

    family.model.default = answer
    family.says(TOM, ASKED)
    [run] = family.runs(chat_of(TOM))
    assert (shown, run.status) == ([True, True, False], "done")
    assert family.texts(chat_of(TOM))[-1] == "answer 3"
