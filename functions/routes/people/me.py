"""Routes of the caller's own user record and phone numbers."""

from aws_lambda_powertools.event_handler import Response

from routes.app import Limit, OwnNumber, PageCursor, TextChannelName
from routes.audited import Unaudited
from routes.router import ApiRouter, no_content
from skein.account_linking.phone_links import PhoneLinks
from skein.bootstrap import app, service
from skein.models.api.choices import ConsentPage, ConsentResource
from skein.models.api.directory import Myself, OperatorsReading, OwnChange
from skein.models.api.number_codes import GivenCode, SentCode
from skein.models.api.open_choices import OpenChoicePage, OpenChoiceResource
from skein.models.api.text_consents import TextConsentPage, TextConsentResource
from skein.models.common.address import phone_address
from skein.models.directory.address_index import TextConsent
from skein.models.directory.number_code import NumberCode
from skein.models.directory.user import User
from skein.privacy.api.audit import AccessPage
from skein.privacy.audit_log import AuditLog
from skein.services.choices.consents import Consents
from skein.services.choices.open_choices import OpenChoices
from skein.services.common.pagination import DEFAULT_PAGE
from skein.services.config.tenant_settings import TenantSettingsService
from skein.services.directory.number_codes import NumberCodes
from skein.services.directory.text_consents import TextConsents
from skein.services.directory.users import Users
from skein.services.quotas.rate_limits import RateLimiter

router = ApiRouter("me", "user")


@router.get(
    "/v1/me", "Get the caller's profile", audit=Unaudited("the caller reads their own data")
)
def get_me() -> Myself:
    """For a caller without a record, the response has the data of the token.

    `operators_read_chats` says whether operators may read chats, and since when.
    """
    caller = router.caller
    user = service(Users).me(caller.tenant, caller.person)
    return _myself(user)


@router.get(
    "/v1/me/choices",
    "List the caller's open choices",
    audit=Unaudited("the caller reads their own data"),
)
def list_choices() -> OpenChoicePage:
    """The questions and invitations that the caller can answer now, from all chats, in one page."""
    caller = router.caller
    listed = service(OpenChoices).of(caller.tenant, caller.user_id)
    items = tuple(OpenChoiceResource.listed(*one) for one in listed)
    return OpenChoicePage(items=items, next_cursor=None)


@router.get(
    "/v1/me/consents",
    "List posts that the caller approved, newest first",
    audit=Unaudited("the caller reads their own data"),
)
def list_consents(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ConsentPage:
    """A consent has the state `posting` until its words are posted, usually within a minute."""
    caller = router.caller
    page = service(Consents).list(caller.tenant, caller.user_id, limit=limit, cursor=cursor)
    items = tuple(map(ConsentResource.of, page.items))
    return ConsentPage(items=items, next_cursor=page.next_cursor)


@router.get(
    "/v1/me/access",
    "List operator access to the caller's private content, newest first",
    audit=Unaudited("the caller reads their own data"),
)
def list_accesses(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> AccessPage:
    """Who saw or changed content of the caller's private chats, when and why.

    A record is kept as long as its entry in the audit log. It names the operator by the token's
    `sub`. Exports of the caller's data and erasures are not listed.
    """
    caller = router.caller
    page = service(AuditLog).accesses(caller.tenant, caller.user_id, limit=limit, cursor=cursor)
    return AccessPage.of(page)


@router.patch("/v1/me", "Update the caller's profile", 409)
def change_me(change: OwnChange) -> Myself:
    """Creates the record of a caller who has none. A new name is shown in the caller's chats."""
    caller = router.caller
    service(RateLimiter).admit_change(caller.tenant, caller.user_id)
    user = service(Users).change_own(caller.tenant, caller.person, change)
    return _myself(user)


@router.post(
    "/v1/me/phones/<phone>/code",
    "Send a code to a phone number of the caller",
    409,
    status=202,
    keyed=True,
    audit="number",
)
def send_own_code(phone: OwnNumber) -> SentCode:
    """The number gets an SMS with six digits, which are valid for ten minutes and five tries.

    Each person and each number can get at most five codes a day.
    """
    caller = router.caller
    service(Users).recorded(caller.tenant, caller.person)
    codes = service(NumberCodes)
    code = router.once(
        NumberCode,
        lambda: codes.request(caller.tenant, caller.user_id, phone),
        lambda code_id: codes.requested(caller.tenant, caller.user_id, phone, code_id),
    )
    return SentCode.of_code(code)


@router.put("/v1/me/phones/<phone>", "Link a phone number to the caller", 409, audit="number")
def link_own_number(phone: OwnNumber, given: GivenCode) -> Myself:
    """A wrong code is answered with 422. The number's SMS chats become the caller's.

    If the caller already has the number, the code proves again that they still use it.
    """
    caller = router.caller
    user = service(PhoneLinks).link(caller.tenant, caller.user_id, phone, code=given.code)
    return _myself(user)


@router.get(
    "/v1/me/phones/<phone>/consents",
    "List the caller's consents for a phone number",
    audit=Unaudited("the caller reads their own data"),
)
def list_own_text_consents(phone: OwnNumber) -> TextConsentPage:
    """Agents write first only to people who have consented, on the channel of the consent."""
    caller = router.caller
    consents = service(TextConsents).of_number(caller.tenant, caller.user_id, phone)
    return TextConsentPage.on_address(phone_address(phone), consents)


@router.put(
    "/v1/me/phones/<phone>/consents/<channel>",
    "Consent to messages that an agent sends first",
    audit="number",
)
def give_text_consent(phone: OwnNumber, channel: TextChannelName) -> TextConsentResource:
    """The consent ends when the caller texts STOP or calls `DELETE` on the same path."""
    caller, now = router.caller, app().ports.clock.now()
    service(RateLimiter).admit_change(caller.tenant, caller.user_id)
    consent = TextConsent(at=now, how="person", by=caller.user_id)
    service(TextConsents).give(caller.tenant, caller.user_id, phone, channel, consent)
    return TextConsentResource.on_number(phone_address(phone), channel, consent)


@router.delete(
    "/v1/me/phones/<phone>/consents/<channel>",
    "Revoke the caller's consent to messages",
    audit="number",
)
def revoke_own_text_consent(phone: OwnNumber, channel: TextChannelName) -> Response[None]:
    """Agents no longer write first to the number on this channel (idempotent)."""
    caller = router.caller
    service(TextConsents).revoke(caller.tenant, caller.user_id, phone, channel)
    return no_content()


def _myself(user: User) -> Myself:
    caller = router.caller
    on, since = service(TenantSettingsService).reading(caller.tenant)
    return Myself.of(
        user,
        profile=user.profile,
        tenant=caller.tenant,
        scopes=caller.scopes,
        operators_read_chats=OperatorsReading(on=on, since=since),
    )
