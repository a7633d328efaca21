"""Routes of users and their phone numbers, for operators."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BeforeValidator

from routes.app import Limit, OwnNumber, PageCursor, TextChannelName, UserId, with_plus
from routes.audited import note_seen
from routes.router import ApiRouter, no_content
from routes.scope import WhyPrivate, check_private, sees_private
from skein.account_linking.phone_links import PhoneLinks
from skein.bootstrap import app, service
from skein.errors import Invalid, Unprocessable
from skein.live.connections import LiveConnections
from skein.live.devices import Devices
from skein.models.api.directory import (
    DirectChatPage,
    DirectChatResource,
    NewUser,
    UserChange,
    UserDetail,
    UserPage,
    UserResource,
)
from skein.models.api.number_codes import GivenCode, SentCode
from skein.models.api.text_consents import (
    NewTextConsent,
    TextConsentPage,
    TextConsentResource,
)
from skein.models.common.address import phone_address
from skein.models.common.base import EntityId, PersonKind
from skein.models.common.person_names import MAX_NAME
from skein.models.directory.address_index import TextConsent
from skein.models.directory.number_code import NumberCode
from skein.models.directory.phone_number import Phone
from skein.models.directory.user import User
from skein.services.chats.views import ChatViews
from skein.services.common.pagination import DEFAULT_PAGE, FOREIGN
from skein.services.directory.number_codes import NumberCodes
from skein.services.directory.people_search import PeopleSearch
from skein.services.directory.sign_outs import SignOuts
from skein.services.directory.text_consents import TextConsents
from skein.services.directory.users import Users

router = ApiRouter("users", "user", role="support")

ProfileChangeId = Annotated[EntityId, Path(description="The id of an agent's change.")]

SearchedNumber = Annotated[
    Phone | None,
    BeforeValidator(with_plus),
    Query(description="Return only the user with this number: +15005550100."),
]

SearchedName = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=MAX_NAME,
        pattern=r"\S",
        description="Return only users whose names have words that begin so, or with this id.",
    ),
]

ListedKind = Annotated[
    PersonKind,
    Query(description="List members, or visitors of web pages in their place."),
]


@router.post("/v1/users", "Create a user", 409)
def create_user(new: NewUser) -> UserDetail:
    """If you give the id, it must be the `sub` of the user's token.

    Phone numbers require the role `privacy`. They must be new: a number that has already written to
    an agent is linked with a code. `roles` requires the role `owner`.
    """
    if new.phones:
        router.caller.need("privacy")
    if new.roles:
        router.caller.need("owner")
    tenant, users = router.caller.tenant, service(Users)
    user = router.once(
        User, lambda: users.create(tenant, new), lambda user_id: users.get(tenant, user_id)
    )
    return UserDetail.detailed(user, private=True)  # all of it comes from the operator


@router.get("/v1/users", "List users by id")
def list_users(
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
    phone: SearchedNumber = None,
    q: SearchedName = None,
    kind: ListedKind = "member",
) -> UserPage:
    """The list includes callers, who are known only by their number.

    With `phone`, it has the owner of the number, or is empty. With `q`, it has the users who are
    found by name, each once, and pages may be short. Visitors of web pages
    are listed with `kind=visitor` only, without `q` and `phone`.
    """
    tenant, users = router.caller.tenant, service(Users)
    if q is not None and phone is not None:
        raise Unprocessable("search by `q` or by `phone`, not by both")
    if kind == "visitor" and (q is not None or phone is not None):
        raise Unprocessable("visitors have no names and numbers to search by")
    if q is not None:
        hits = service(PeopleSearch).find(tenant, q, limit=limit, cursor=cursor)
        return UserPage(items=tuple(map(UserResource.of, hits.items)), next_cursor=hits.next_cursor)
    if phone is not None:
        if cursor is not None:
            raise Invalid(FOREIGN)
        owner = users.owner_of(tenant, phone)
        found = () if owner is None else (UserResource.of(owner),)
        return UserPage(items=found, next_cursor=None)
    page = users.list(tenant, visitors=kind == "visitor", limit=limit, cursor=cursor)
    return UserPage.of(page)


@router.get("/v1/users/<user_id>", "Get a user")
def get_user(user_id: UserId, reason: WhyPrivate = None) -> UserDetail:
    """The response names the source of each value in the profile that an agent set.

    Without the role `privacy` and a reason, the profile and its changes are withheld (null).
    """
    return _shown(service(Users).get(router.caller.tenant, user_id), reason)


@router.get("/v1/users/<user_id>/chats", "List a user's direct chats, newest first", audit="chat")
def list_direct_chats(
    user_id: UserId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> DirectChatPage:
    """The list has no texts. Discarded chats are omitted, so a page may be short."""
    tenant = router.caller.tenant
    user = service(Users).get(tenant, user_id)
    page = service(ChatViews).direct_chats(tenant, user.id, limit=limit, cursor=cursor)
    items = tuple(DirectChatResource.from_parts(own.chat, own.membership) for own in page.items)
    return DirectChatPage(items=items, next_cursor=page.next_cursor)


@router.patch("/v1/users/<user_id>", "Update a user", 409)
def change_user(user_id: UserId, change: UserChange, reason: WhyPrivate = None) -> UserDetail:
    """Numbers that are omitted from `phones` are unlinked. A new number must be linked with a code.

    `phones` requires the role `privacy`, `profile` the role `privacy` and a reason, and `roles` the
    role `owner`.
    """
    caller = router.caller
    if "phones" in change.given:
        caller.need("privacy")
    if "roles" in change.given:
        caller.need("owner")
    if "profile" in change.given:
        check_private(caller, reason)
    return _shown(service(Users).change(caller.tenant, user_id, change), reason)


@router.post(
    "/v1/users/<user_id>/profile-changes/<profile_change_id>/undo",
    "Undo an agent's change to a user's profile",
    409,
    status=200,
    audit="profile",
)
def undo_profile_change(
    user_id: UserId, profile_change_id: ProfileChangeId, reason: WhyPrivate = None
) -> UserDetail:
    """Restores the previous value. Consolidation does not set the undone value again."""
    check_private(router.caller, reason)
    user = service(Users).undo(router.caller.tenant, user_id, profile_change_id)
    return _shown(user, reason)


@router.post("/v1/users/<user_id>/sign-out", "Sign a user out", status=204)
def sign_out(user_id: UserId) -> Response[None]:
    """Refuses all tokens that were issued before now, and closes the user's live connections.

    The user's devices get no more notifications.

    Tokens without `iat` are refused from then on, too. To sign out a person without a record, such
    as an operator who is in no chat, first create a user with the `sub` of the person's token.
    """
    tenant = router.caller.tenant
    service(SignOuts).sign_out(tenant, user_id)
    service(LiveConnections).close_all(tenant, user_id, "access_ended")
    service(Devices).remove_all(tenant, user_id)
    return no_content()


@router.post(
    "/v1/users/<user_id>/phones/<phone>/code",
    "Send a code to a phone number, to link it to a user",
    409,
    status=202,
    keyed=True,
    audit="number",
    role="privacy",
)
def send_code(user_id: UserId, phone: OwnNumber) -> SentCode:
    """The number gets an SMS with six digits, which are valid for ten minutes and five tries.

    Each user and each number can get at most five codes a day.
    """
    tenant, codes = router.caller.tenant, service(NumberCodes)
    code = router.once(
        NumberCode,
        lambda: codes.request(tenant, user_id, phone),
        lambda code_id: codes.requested(tenant, user_id, phone, code_id),
    )
    return SentCode.of_code(code)


@router.put(
    "/v1/users/<user_id>/phones/<phone>",
    "Link a phone number to a user",
    409,
    audit="number",
    role="privacy",
)
def link_number(user_id: UserId, phone: OwnNumber, given: GivenCode) -> UserDetail:
    """The person reads the code from an SMS. A wrong code is answered with 422.

    If a caller has this number, the caller is merged into the user, with all chats. If the user
    already has the number, the code proves again that they still use it.
    """
    tenant = router.caller.tenant
    linked = service(PhoneLinks).link(tenant, user_id, phone, code=given.code)
    return UserDetail.detailed(linked, private=False)


@router.get(
    "/v1/users/<user_id>/phones/<phone>/consents",
    "List consents for a phone number",
    audit="number",
    role="privacy",
)
def list_text_consents(user_id: UserId, phone: OwnNumber) -> TextConsentPage:
    """Agents write first only to people who have consented, on the channel of the consent."""
    consents = service(TextConsents).of_number(router.caller.tenant, user_id, phone)
    return TextConsentPage.on_address(phone_address(phone), consents)


@router.put(
    "/v1/users/<user_id>/phones/<phone>/consents/<channel>",
    "Record a person's consent to messages",
    audit="number",
    role="privacy",
)
def record_text_consent(
    user_id: UserId, phone: OwnNumber, channel: TextChannelName, new: NewTextConsent
) -> TextConsentResource:
    """The proof says where and how the person consented. STOP revokes the consent."""
    caller, now = router.caller, app().ports.clock.now()
    consent = TextConsent(at=now, how="operator", by=caller.user_id, proof=new.proof)
    service(TextConsents).give(caller.tenant, user_id, phone, channel, consent)
    return TextConsentResource.on_number(phone_address(phone), channel, consent)


@router.delete(
    "/v1/users/<user_id>/phones/<phone>/consents/<channel>",
    "Revoke a person's consent to messages",
    audit="number",
    role="privacy",
)
def revoke_text_consent(
    user_id: UserId, phone: OwnNumber, channel: TextChannelName
) -> Response[None]:
    """Agents no longer write first to the number on this channel (idempotent)."""
    service(TextConsents).revoke(router.caller.tenant, user_id, phone, channel)
    return no_content()


@router.delete(
    "/v1/users/<user_id>/phones/<phone>",
    "Unlink a phone number from a user",
    audit="number",
    role="privacy",
)
def unlink_number(user_id: UserId, phone: OwnNumber) -> Response[None]:
    """The user keeps their chats. The next SMS from the number creates a new caller."""
    service(PhoneLinks).unlink(router.caller.tenant, user_id, phone)
    return no_content()


def _shown(user: User, reason: str | None) -> UserDetail:
    """Return a user as the operator may see them, and record it if the profile is shown."""
    private = sees_private(router.caller, reason)
    if private:
        note_seen([user.id])
    return UserDetail.detailed(user, private=private)
