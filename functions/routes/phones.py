"""The phone numbers of people, for operators: routes of the function `admin_api`."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import ApiRouter, UserId, documented, no_content
from routes.audited import changes, deletes
from skein.bootstrap import app
from skein.models.api.directory import Phone, UserResource

router = ApiRouter()

OwnNumber = Annotated[Phone, Path(description="A number with its country code: +15005550100.")]


@router.put(
    "/v1/users/<user_id>/phones/<phone>",
    summary="Link a phone number to a person",
    tags=["users"],
    responses=documented(200, UserResource, 400, 404, 409, 413, 422),
    middlewares=changes("number"),
)
def link_number(user_id: UserId, phone: OwnNumber) -> UserResource:
    """Whoever was known by this number alone becomes one with the person, chats included."""
    return UserResource.of(app().numbers.link(router.caller.tenant, user_id, phone))


@router.delete(
    "/v1/users/<user_id>/phones/<phone>",
    summary="Take a phone number away from a person",
    tags=["users"],
    status_code=204,
    responses=documented(204, None, 404, 422),
    middlewares=deletes("number"),
)
def unlink_number(user_id: UserId, phone: OwnNumber) -> Response[None]:
    """Their chats stay theirs; whoever texts from the number next begins afresh."""
    app().numbers.unlink(router.caller.tenant, user_id, phone)
    return no_content()
