"""Routes of the caller's own words and the sharing rules that cover them (`mobile_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import ChatId, Principal
from routes.audited import Unaudited
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.models.common.base import EntityId
from skein.services.quotas.rate_limits import RateLimiter
from skein.sharing.api import (
    NewOwnRule,
    OwnSharingResource,
    OwnTalk,
    SharingRuleResource,
    Withdrawal,
)
from skein.sharing.own import OwnSharing

router = ApiRouter("me", "sharing")

RuleId = Annotated[EntityId, Path(description="The id of a sharing rule.")]


@router.get(
    "/v1/me/sharing",
    "Get what others may be told of the caller's words",
    audit=Unaudited("the caller reads their own data"),
)
def get_own_sharing() -> OwnSharingResource:
    """Who may be told what the caller says to agents alone, and what was told to whom."""
    caller = router.caller
    return OwnSharingResource.of(service(OwnSharing).view(caller.tenant, caller.person))


@router.post("/v1/me/sharing/rules", "Add a rule for the caller's own words", 409)
def add_own_rule(new: NewOwnRule) -> SharingRuleResource:
    """A rule for the caller's own words to agents, from now on."""
    caller = _changing()
    return SharingRuleResource.of(service(OwnSharing).add_rule(caller.tenant, caller.person, new))


@router.delete("/v1/me/sharing/rules/<rule_id>", "Delete a rule of the caller", 409)
def remove_own_rule(rule_id: RuleId) -> Response[None]:
    """Only a rule that the caller made; nothing more is told by it."""
    caller = _changing()
    service(OwnSharing).remove_rule(caller.tenant, caller.user_id, rule_id)
    return no_content()


@router.post(
    "/v1/chats/<chat_id>/sharing/keep", "Keep the newest talk from others", 409, status=200
)
def keep_talk(chat_id: ChatId) -> OwnTalk:
    """As the word PRIVATE does: all words since the last pause, and until the next one."""
    caller = _changing()
    chat = service(OwnSharing).keep_talk(caller.tenant, caller.user_id, chat_id)
    return OwnTalk.of(chat)


@router.post(
    "/v1/chats/<chat_id>/sharing/withdraw", "Keep earlier words from others", 409, status=200
)
def withdraw_words(chat_id: ChatId, given: Withdrawal) -> OwnTalk:
    """Nobody is told them from now on. What was told before stays said."""
    caller = _changing()
    chat = service(OwnSharing).withdraw(caller.tenant, caller.user_id, chat_id, given)
    return OwnTalk.of(chat)


@router.post(
    "/v1/chats/<chat_id>/sharing/rules/<rule_id>", "Let a rule cover earlier words", 409, status=200
)
def open_earlier_words(chat_id: ChatId, rule_id: RuleId) -> OwnTalk:
    """What the caller said in the chat before the notice of the rule may be told by it, too."""
    caller = _changing()
    chat = service(OwnSharing).open_to(caller.tenant, caller.user_id, chat_id, rule_id)
    return OwnTalk.of(chat)


def _changing() -> Principal:
    caller = router.caller
    service(RateLimiter).admit_change(caller.tenant, caller.user_id)
    return caller
