"""Sharing rules: what one person says to an agent alone reaches another by rule only."""

from datetime import timedelta
from functools import cache

import pytest

from skein.models.common.storage import Update
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.sharing_rules import SharingRules
from tests.support.api_client import Client
from tests.support.builders import TENANT
from tests.support.family import EMMA, RINA, TOM, Family, chat_of

SECRET = "The piano lesson with Mrs Okafor moved to Thursday at five"
ASKED = "When is the piano lesson with Mrs Okafor?"


@pytest.fixture
def family() -> Family:
    return Family.with_model().continue_from(_made())


@cache
def _made() -> Family:
    return Family.made()


def test_rule_shares_the_daughters_words_with_the_father_only(family: Family) -> None:
    family.rule()
    family.says(EMMA, "Hello there, how are you?")
    [notice] = [m for m in family.messages(chat_of(EMMA)) if m.kind == "notice"]
    assert "father (They live together.)" in notice.text
    family.says(EMMA, SECRET)
    family.quiet()

    prompt = family.prompt_of(TOM, ASKED)

    assert f'  2026-02-18, Emma (may be told to: father): "{SECRET}"' in prompt
    assert SECRET not in family.prompt_of(RINA, ASKED)
    told = Client(family, sub=EMMA.id).get("/v1/me/sharing").body
    assert told["disclosures"][0]["shared_with"] == ["Tom"]
    assert told["roles"] == [{"role": "daughter", "subject": None}]


def test_notice_names_its_rules_so_that_apps_can_show_a_button(family: Family) -> None:
    rules = {family.rule(), family.rule(to="neighbour")}
    family.says(EMMA, "Hello there, how are you?")
    path, emma = f"/v1/chats/{chat_of(EMMA)}", Client(family, sub=EMMA.id)
    listed = emma.get(f"{path}/messages").body["items"]
    told = {each["kind"]: set(each["sharing_rules"]) for each in listed}
    assert told == {"text": set(), "notice": rules}
    family.says(EMMA, SECRET)
    assert emma.post(f"{path}/sharing/keep", {}).body["private"] is True
    family.quiet()
    assert SECRET not in family.prompt_of(TOM, ASKED)


def test_words_before_the_notice_are_not_shared(family: Family) -> None:
    family.says(EMMA, SECRET)
    family.rule()
    family.says(EMMA, "Hello again, what a day it was")
    family.quiet()
    assert SECRET not in family.prompt_of(TOM, ASKED)


def test_conversation_kept_private_is_not_shared(family: Family) -> None:
    family.rule()
    family.says(EMMA, "Hello there, how are you?")
    family.quiet()
    family.says(EMMA, SECRET)
    family.says(EMMA, "Private!")
    assert family.texts(chat_of(EMMA))[-1] == "OK, this talk stays between us."
    family.says(EMMA, "The piano teacher Mrs Okafor is strict")
    family.quiet()
    prompt = family.prompt_of(TOM, ASKED)
    assert "may be told" not in prompt

    family.says(EMMA, "The piano lesson with Mrs Okafor was fun")  # a new talk
    family.quiet()
    prompt = family.prompt_of(TOM, ASKED)
    assert "was fun" in prompt
    assert SECRET not in prompt
    assert "strict" not in prompt


@pytest.mark.parametrize("written", ["PRIVATE", " keep Private. ", "by the API"])
def test_conversation_kept_private_later_is_no_longer_shared(family: Family, written: str) -> None:
    family.attach_feed()
    family.rule()
    family.tells(EMMA, SECRET)
    assert SECRET in family.prompt_of(TOM, ASKED)
    version = family.person(EMMA).sharing_version
    if written == "by the API":
        emma = Client(family, sub=EMMA.id)
        kept = emma.post(f"/v1/chats/{chat_of(EMMA)}/sharing/keep", {})
        assert kept.status == 200, kept.body
    else:
        family.says(EMMA, written)
        assert family.texts(chat_of(EMMA))[-1].startswith("OK, this talk and the one before it")
    assert family.person(EMMA).sharing_version > version
    family.clock.advance(16 * 60)
    family.drain()
    assert "may be told" not in family.prompt_of(TOM, ASKED)


def test_word_private_is_an_ordinary_message_without_a_covering_rule(family: Family) -> None:
    family.rule()
    family.says(RINA, "PRIVATE")
    assert family.texts(chat_of(RINA))[-1] == "Fine."


def test_index_of_a_quiet_talk_needs_no_further_message(family: Family) -> None:
    family.attach_feed()
    family.rule()
    family.says(EMMA, "Hello there, how are you?")
    family.says(EMMA, SECRET)
    family.clock.advance(16 * 60)
    family.drain()
    assert SECRET in family.prompt_of(TOM, ASKED)


@pytest.mark.parametrize("what", ["rule", "role of the reader", "words"])
def test_words_are_not_shared_after_withdrawal(family: Family, what: str) -> None:
    rule = family.rule()
    family.tells(EMMA, SECRET)
    assert SECRET in family.prompt_of(TOM, ASKED)
    if what == "rule":
        assert family.operator.delete(f"/v1/sharing-rules/{rule}").status == 204
    elif what == "words":
        given = {"from_seq": 1, "to_seq": 4}
        emma = Client(family, sub=EMMA.id)
        kept = emma.post(f"/v1/chats/{chat_of(EMMA)}/sharing/withdraw", given)
        assert kept.status == 200, kept.body
    else:
        family.give(TOM)
    assert f'Emma (may be told to: father): "{SECRET}"' not in family.prompt_of(TOM, ASKED)
    assert Client(family, sub=EMMA.id).get("/v1/me/sharing").body["disclosures"]


def test_sharing_uses_the_authors_role_at_the_time_of_the_message(family: Family) -> None:
    family.rule()
    family.says(EMMA, "Hello there, how are you?")
    family.says(EMMA, SECRET)
    family.clock.advance(1)
    family.give(EMMA)
    family.says(EMMA, "The piano lesson with Mrs Okafor costs 30 euros")
    family.quiet()
    prompt = family.prompt_of(TOM, ASKED)
    assert SECRET in prompt
    assert "30 euros" not in prompt


def test_rule_for_the_same_subject_needs_one_subject_of_both(family: Family) -> None:
    family.give(EMMA, "daughter", subject=RINA.id)
    family.rule(same_subject=True)
    family.tells(EMMA, SECRET)
    assert SECRET not in family.prompt_of(TOM, ASKED)
    family.give(TOM, "father", subject=EMMA.id)
    assert SECRET not in family.prompt_of(TOM, ASKED)
    family.give(TOM, "father", subject=RINA.id)
    assert SECRET in family.prompt_of(TOM, ASKED)


def test_shared_words_are_not_shared_again_by_another_rule(family: Family) -> None:
    family.give(RINA, "neighbour")
    family.rule()
    family.rule("father", "neighbour")
    family.says(EMMA, "Hello there, how are you?")
    family.says(TOM, "Hello there, how are you?")
    family.says(EMMA, SECRET)
    family.quiet()
    assert SECRET in family.prompt_of(TOM, ASKED)
    family.quiet()
    prompt = family.prompt_of(RINA, ASKED)
    assert SECRET not in prompt
    assert ASKED in prompt.replace("may be told", "")  # what Tom himself said is told


def test_run_with_shared_words_is_rebuilt_when_the_rule_is_deleted(family: Family) -> None:
    rule = family.rule()
    family.tells(EMMA, SECRET)
    prompts: list[str] = []

    def answer(request: ModelRequest) -> str:
        prompts.append("\n".join(message.content for message in request.messages))
        if len(prompts) == 1:
            family.operator.delete(f"/v1/sharing-rules/{rule}")
        return f"answer {len(prompts)}"

    family.model.default = answer
    family.says(TOM, ASKED)
    assert SECRET in prompts[0]
    assert len(prompts) == 2
    assert SECRET not in prompts[1]
    assert family.texts(chat_of(TOM))[-1] == "answer 2"


def test_ended_rule_cannot_be_extended(family: Family) -> None:
    ends = (family.clock.now() + timedelta(hours=1)).isoformat()
    rule = family.rule(ends_at=ends)
    family.clock.advance(3_600)
    later = (family.clock.now() + timedelta(hours=1)).isoformat()
    changed = family.operator.patch(f"/v1/sharing-rules/{rule}", {"ends_at": later})
    assert changed.status == 409, changed.body


def test_rule_beyond_the_limit_of_a_tenant_is_refused(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 10
    monkeypatch.setattr("skein.sharing.rules.MAX_RULES", most)
    for _ in range(most):
        family.rule()
    full = {"name": "R", "reason": "So.", "from": {"role": "a"}, "to": {"role": "b"}}
    assert family.operator.post("/v1/sharing-rules", full).status == 409
    [newest, *_] = family.operator.get("/v1/sharing-rules/versions").body["items"]
    assert (newest["version"], len(newest["rules"])) == (most, most)


@pytest.mark.parametrize("side", ["from", "to"])
def test_rule_that_names_a_person_is_refused(family: Family, side: str) -> None:
    rule = {"name": "R", "reason": "So.", "from": {"role": "daughter"}, "to": {"role": "father"}}
    refused = family.operator.post("/v1/sharing-rules", rule | {side: {"user_id": TOM.id}})
    assert refused.status == 422, refused.body


OF_0_3_0 = {
    "a person's own": ({"user_id": EMMA.id}, {"user_id": TOM.id}, {"own": True}),
    "a person's own to a role": ({"user_id": EMMA.id}, {"role": "father"}, {"own": True}),
    "an operator's to a person": ({"role": "daughter"}, {"user_id": TOM.id}, {}),
}


@pytest.mark.parametrize("kind", OF_0_3_0)
def test_stored_rule_that_names_a_person_has_no_effect(family: Family, kind: str) -> None:
    kept = family.rule()
    family.tells(EMMA, SECRET)
    item = family.table.get(SharingRules.key_of(TENANT)) or {}
    whose, to, more = OF_0_3_0[kind]
    [rule] = item["rules"]
    named = rule | {"from": whose, "to": to} | more  # covers the chat, under the same id
    family.table.write(Update(SharingRules.key_of(TENANT), set={"rules": [named]}))
    assert SECRET not in family.prompt_of(TOM, ASKED)
    assert family.operator.get("/v1/sharing-rules").body["items"] == []
    assert Client(family, sub=EMMA.id).get("/v1/me/sharing").body["rules"] == []
    family.table.write(Update(SharingRules.key_of(TENANT), set={"rules": [rule, named]}))
    assert SECRET in family.prompt_of(TOM, f"{ASKED} Please tell me")
    [listed] = family.operator.get("/v1/sharing-rules").body["items"]
    assert listed["id"] == kept


def test_person_sees_the_rules_that_share_words_with_them(family: Family) -> None:
    family.rule()
    family.rule(same_subject=True)  # Tom's role has no subject
    family.rule("neighbour", "tutor")
    tom = Client(family, sub=TOM.id).get("/v1/me/sharing").body
    assert [each["shared_by"] for each in tom["told_by"]] == ["everybody with the role daughter"]
    assert (tom["receives"], tom["rules"]) == (True, [])
    emma = Client(family, sub=EMMA.id).get("/v1/me/sharing").body
    assert (len(emma["rules"]), emma["told_by"]) == (1, [])


def test_person_who_turned_sharing_off_receives_no_shared_words(family: Family) -> None:
    family.rule()
    family.tells(EMMA, SECRET)
    tom = Client(family, sub=TOM.id)
    changed = tom.patch("/v1/me/sharing", {"receives": False})
    assert (changed.status, changed.body["receives"]) == (200, False)
    assert SECRET not in family.prompt_of(TOM, ASKED)
    tom.patch("/v1/me/sharing", {"receives": True})
    assert SECRET in family.prompt_of(TOM, f"{ASKED} Please tell me")


def test_run_posts_no_shared_words_after_the_reader_turns_sharing_off(family: Family) -> None:
    family.rule()
    family.tells(EMMA, SECRET)

    def answer(_: ModelRequest) -> str:
        Client(family, sub=TOM.id).patch("/v1/me/sharing", {"receives": False})
        return SECRET

    family.model.script.append(answer)
    family.says(TOM, ASKED)
    assert family.texts(chat_of(TOM))[-1] == "Fine."


def test_person_without_a_record_can_turn_it_off(family: Family) -> None:
    new = Client(family, sub="usr_new", claims={"name": "New"})
    assert new.patch("/v1/me/sharing", {"receives": False}).body["receives"] is False
    assert new.get("/v1/me/sharing").body["receives"] is False
