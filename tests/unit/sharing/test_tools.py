"""Rules for a person's own words by a choice: an agent proposes them, the person's yes decides."""

from datetime import timedelta
from typing import Any

import pytest

from skein.models.chats.choice import NO, YES
from skein.models.config.sharing import MAX_OWN_RULES, ProposedRule, SharingData, SharingParty
from tests.support.agents import results_of
from tests.support.api_client import Client, operator
from tests.support.builders import person
from tests.support.fakes import calls
from tests.support.family import COACH, EMMA, RINA, TOM, Family, chat_of
from tests.support.sms_choices import Phone

SECRET = "The piano lesson with Mrs Okafor moved to Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"
TO_TOM = {"person": "Tom", "reason": "He drives me."}
EARLIER = ("ask_to_share_earlier", {"person": "Tom"})
QUESTION = (
    "May agents tell Tom, if asked, what you write to them alone from now on? "
    'Reason: "He drives me.". PRIVATE keeps a talk between us, at the latest 15 minutes after its '
    "last message. Yes allows it."
)


@pytest.fixture
def family() -> Family:
    """Emma and Tom share a group; Rina shares none with them."""
    world = Family.made()
    world.agent(enabled_tools=("ask_to_share", "ask_to_share_earlier"))
    world.chat(EMMA, TOM, COACH, chat_id="chat_home", visibility="private", respond="mention")
    return world


def proposed(
    family: Family,
    call: tuple[str, dict[str, Any]] = ("ask_to_share", TO_TOM),
    *,
    chat_id: str = chat_of(EMMA),
) -> str:
    """Let the agent propose something to Emma; returns what the model is told."""
    family.model.script.append(calls(call))
    family.post("@Coach, you may tell Tom", EMMA, chat_id=chat_id)
    family.drain()
    newest = max(family.runs(chat_id), key=lambda run: run.id)
    return results_of(family, newest)[0].content


def answered(family: Family, option: str = YES, **fields: Any) -> int:
    """Let Emma answer the newest question in the app; returns the status."""
    asked = [one for one in family.messages(chat_of(EMMA)) if one.kind == "choice"][-1]
    body = {"choice": {"seq": asked.seq, "option": option}, "client_id": f"for-{asked.seq}"}
    emma = Client(family, sub=EMMA.id)
    status = emma.post(f"/v1/chats/{chat_of(EMMA)}/messages", body | fields).status
    family.clock.advance(1)
    return status


def rules_of(family: Family) -> list[dict[str, Any]]:
    listed = Client(family, sub=EMMA.id).get("/v1/me/sharing").body["rules"]
    return [dict(each) for each in listed]


def test_yes_to_a_proposal_makes_the_rule_and_is_its_notice(family: Family) -> None:
    assert "the person is asked in msg:" in proposed(family)
    [asked] = Client(family, sub=EMMA.id).get("/v1/me/choices").body["items"]
    assert (asked["question"], asked["purpose"]) == (QUESTION, "sharing")
    assert rules_of(family) == []

    assert answered(family) == 201
    [rule] = rules_of(family)
    assert (rule["shared_with"], rule["reason"], rule["own"]) == ("Tom", "He drives me.", True)
    family.says(EMMA, SECRET)
    family.quiet()
    assert [one for one in family.messages(chat_of(EMMA)) if one.kind == "notice"] == []
    assert SECRET in family.prompt_of(TOM, ASKED)
    assert SECRET not in family.prompt_of(RINA, ASKED)


@pytest.mark.parametrize("answer", [NO, None])
def test_no_or_silence_changes_nothing(family: Family, answer: str | None) -> None:
    proposed(family)
    if answer is not None:
        assert answered(family, answer) == 201
    family.says(EMMA, SECRET)
    family.clock.advance(timedelta(days=30).total_seconds())
    assert rules_of(family) == []
    assert SECRET not in family.prompt_of(TOM, ASKED)
    if answer is None:
        assert answered(family) == 409


def test_second_yes_makes_no_second_rule(family: Family) -> None:
    proposed(family)
    assert answered(family) == 201
    assert answered(family) == 200  # the same answer again
    assert answered(family, client_id="another") == 409
    assert len(rules_of(family)) == 1


def test_only_the_person_who_was_asked_agrees(family: Family) -> None:
    proposed(family)
    body = {"choice": {"seq": 2, "option": YES}, "client_id": "toms"}
    tom = Client(family, sub=TOM.id)
    assert tom.post(f"/v1/chats/{chat_of(EMMA)}/messages", body).status == 404
    assert rules_of(family) == []


def test_rule_for_a_role_ends_when_it_was_to(family: Family) -> None:
    arguments = {"role": "father", "reason": "He drives me.", "until": "2 hours"}
    proposed(family, ("ask_to_share", arguments))
    [asked] = Client(family, sub=EMMA.id).get("/v1/me/choices").body["items"]
    assert 'everybody with the role "father"' in asked["question"]
    assert "from now on until 2026-02-18" in asked["question"]
    assert answered(family) == 201
    [rule] = rules_of(family)
    family.clock.advance(2 * 3_600)
    assert rule["ends_at"] is not None
    assert rules_of(family) == []


def test_yes_after_the_end_of_the_rule_is_late(family: Family) -> None:
    proposed(family, ("ask_to_share", TO_TOM | {"until": "1 hour"}))
    family.clock.advance(3_600)
    assert answered(family) == 409


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"person": "Rina"}, "nobody whose name is"),  # they share no chat
        ({"person": RINA.id}, "nobody whose name is"),
        ({"person": "Emma"}, "nobody whose name is"),
        ({"role": "father"}, "give either person or role"),
        ({"person": None}, "give either person or role"),
        ({"role": "Father!"}, "role"),
        ({"until": "soon"}, "until must be"),
        ({"reason": "\u2800"}, "no visible characters"),
    ],
)
def test_proposal_that_cannot_be_made_is_corrected(
    family: Family, arguments: dict[str, Any], error: str
) -> None:
    assert error in proposed(family, ("ask_to_share", TO_TOM | arguments))
    assert [one for one in family.messages(chat_of(EMMA)) if one.kind == "choice"] == []


def test_person_of_a_chat_to_which_emma_is_only_invited_cannot_be_named(family: Family) -> None:
    ben = person("usr_ben", "Ben")
    family.known(ben)
    family.chat(ben, COACH, chat_id="chat_bens", visibility="private")
    added = Client(family, sub=ben.id).put(f"/v1/chats/chat_bens/members/user/{EMMA.id}")
    assert [each["state"] for each in added.body["members"] if each["id"] == EMMA.id] == ["invited"]
    assert "nobody whose name is" in proposed(family, ("ask_to_share", TO_TOM | {"person": "Ben"}))


def test_tools_are_offered_in_private_direct_chats_only(family: Family) -> None:
    family.says(EMMA, "Hello")
    offered = {each.name for each in family.model.requests[-1].tools}
    assert offered == {"ask_to_share", "ask_to_share_earlier"}
    family.post("@Coach, hello", EMMA, chat_id="chat_home")
    family.drain()
    assert [each.name for each in family.model.requests[-1].tools] == []


def test_group_is_no_place_to_ask_in(family: Family) -> None:
    assert "refused: ask in a private direct chat" in proposed(family, chat_id="chat_home")
    assert rules_of(family) == []


def test_run_that_was_told_words_by_a_rule_proposes_none_with_a_reason(family: Family) -> None:
    family.rule("father", "daughter")
    family.says(TOM, "Hello there, how are you?")
    family.says(TOM, SECRET)
    family.quiet()
    family.model.script.append(calls(("ask_to_share", TO_TOM | {"reason": SECRET})))
    family.says(EMMA, ASKED)
    [result] = results_of(family, family.runs(chat_of(EMMA))[-1])
    assert "refused: a sharing rule told words here" in result.content
    assert [one for one in family.messages(chat_of(EMMA)) if one.kind == "choice"] == []


def test_eleventh_own_rule_is_refused_when_proposed_and_when_answered(family: Family) -> None:
    emma = Client(family, sub=EMMA.id)
    proposed(family)
    for number in range(MAX_OWN_RULES):
        body = {"to": {"role": f"r{number}"}, "reason": "So."}
        assert emma.post("/v1/me/sharing/rules", body).status == 201
    assert answered(family) == 409
    assert len(rules_of(family)) == MAX_OWN_RULES
    assert f"at most {MAX_OWN_RULES} rules" in proposed(
        family, ("ask_to_share", {"role": "x", "reason": "So."})
    )
    emma.delete(f"/v1/me/sharing/rules/{rules_of(family)[0]['id']}")
    assert answered(family) == 201  # the question is still open


def test_rule_that_exists_is_not_proposed_again(family: Family) -> None:
    proposed(family)
    answered(family)
    assert "they may be told already" in proposed(family)


def test_yes_is_too_late_once_the_other_person_is_gone(family: Family) -> None:
    proposed(family)
    assert family.operator.delete(f"/v1/users/{TOM.id}").status == 202
    assert answered(family) == 409
    assert rules_of(family) == []


def test_earlier_words_are_told_after_a_yes_of_their_own(family: Family) -> None:
    family.attach_feed()
    family.says(EMMA, SECRET)
    proposed(family)
    answered(family)
    family.quiet()
    assert SECRET not in family.prompt_of(TOM, ASKED)

    asked = proposed(family, EARLIER)
    assert "the person is asked in msg:" in asked
    [question] = Client(family, sub=EMMA.id).get("/v1/me/choices").body["items"]
    assert "also what you wrote to me here before you knew of that?" in question["question"]
    family.quiet()
    assert SECRET not in family.prompt_of(TOM, ASKED)
    assert answered(family) == 201
    family.drain()
    assert SECRET in family.prompt_of(TOM, ASKED)
    again = proposed(family, EARLIER)
    assert "they may be told what the person said here earlier already" in again


def test_earlier_words_are_opened_only_to_a_rule_that_covers_the_chat(family: Family) -> None:
    family.rule()
    result = proposed(family, EARLIER)
    assert "nobody of that name or role may be told" in result


def test_words_that_emma_kept_stay_kept_when_earlier_ones_are_opened(family: Family) -> None:
    family.attach_feed()
    proposed(family)
    answered(family)
    family.says(EMMA, SECRET)
    family.says(EMMA, "PRIVATE")
    family.quiet()
    proposed(family, EARLIER)
    answered(family)
    family.quiet()
    assert SECRET not in family.prompt_of(TOM, ASKED)


def test_yes_by_sms_makes_the_rule_once() -> None:
    phone = Phone()
    rule = ProposedRule(to=SharingParty(role="father"), reason="He drives me.")
    codes = phone.ask(purpose="sharing", data=SharingData(rule=rule).attributes())
    phone.text(codes["Yes"])
    phone.text(codes["Yes"], sid=phone.newest)
    phone.text(f"{codes['Yes']} yes")  # the number is over
    [made] = operator(phone.world).get("/v1/sharing-rules").body["items"]
    assert (made["from"]["user_id"], made["to"]["role"]) == (phone.user_id, "father")
    assert (made["own"], made["reason"]) == (True, "He drives me.")
    sharing = phone.world.stored_chat(phone.chat_id).sharing
    assert sharing is not None
    assert list(sharing.noticed) == [made["id"]]
