"""Routes of the sharing rules that affect the caller's words or the caller (`mobile_api`)."""

from routes.app import ChatId, Principal
from routes.audited import Unaudited
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.services.quotas.rate_limits import RateLimiter
from skein.sharing.api import OwnSharingChange, OwnSharingResource, OwnTalk, Withdrawal
from skein.sharing.own import OwnSharing

router = ApiRouter("me", "sharing")


@router.get(
    "/v1/me/sharing",
    "Get how sharing rules affect the caller",
    audit=Unaudited("the caller reads their own data"),
)
def get_own_sharing() -> OwnSharingResource:
    """Who may be told what the caller says to agents in private, and what was told to whom.

    `told_by` lists the rules by which agents may tell the caller what others say.
    """
    caller = router.caller
    return OwnSharingResource.of(service(OwnSharing).view(caller.tenant, caller.person))


@router.patch("/v1/me/sharing", "Turn sharing with the caller on or off", 404)
def change_own_sharing(change: OwnSharingChange) -> OwnSharingResource:
    """If `receives` is false, agents use no sharing rule to tell the caller anything."""
    caller = _changing()
    service(OwnSharing).receive(caller.tenant, caller.person, receives=change.receives)
    return OwnSharingResource.of(service(OwnSharing).view(caller.tenant, caller.person))


@router.post(
    "/v1/chats/<chat_id>/sharing/keep", "Keep the current conversation private", 409, status=200
)
def keep_talk(chat_id: ChatId) -> OwnTalk:
    """Does the same as texting the word PRIVATE.

    It covers all that the caller has said since their last long pause and will say until the next
    one.
    """
    caller = _changing()
    chat = service(OwnSharing).keep_talk(caller.tenant, caller.user_id, chat_id)
    return OwnTalk.of(chat)


@router.post(
    "/v1/chats/<chat_id>/sharing/withdraw", "Stop sharing earlier messages", 409, status=200
)
def withdraw_words(chat_id: ChatId, given: Withdrawal) -> OwnTalk:
    """From now on, agents tell nobody these words. What agents have already told stays."""
    caller = _changing()
    chat = service(OwnSharing).withdraw(
        caller.tenant, caller.user_id, chat_id, from_seq=given.from_seq, to_seq=given.to_seq
    )
    return OwnTalk.of(chat)


def _changing() -> Principal:
    caller = router.caller
    service(RateLimiter).admit_change(caller.tenant, caller.user_id)
    return caller
