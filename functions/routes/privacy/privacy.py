"""Routes of a person's export and erasure, for operators (function `admin_api`)."""

from itertools import starmap
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from routes.app import Limit, PageCursor, UserId
from routes.router import ApiRouter
from skein.bootstrap import app, service
from skein.live.api import DeviceResource
from skein.models.api.chats import MessageResource
from skein.models.api.choices import ConsentResource
from skein.models.api.directory import UserDetail
from skein.models.api.text_consents import TextConsentPage
from skein.models.api.usage import PersonUsageResource
from skein.privacy.api.privacy import (
    DeliveryResource,
    ErasurePage,
    ErasurePreviewResource,
    ErasureResource,
    ExportedFileResource,
    ExportedInvitation,
    ExportedVisit,
    ExportResource,
    KeptResource,
    PlaceResource,
)
from skein.privacy.erasure_preview import ErasurePreviews
from skein.privacy.erasure_requests import Erasures
from skein.privacy.export import Exports
from skein.privacy.models.erasure import NamedTexts
from skein.services.chats.posted_media import files_of
from skein.services.common.pagination import DEFAULT_PAGE
from skein.sharing.api import DisclosedWords, OwnSharingRule
from skein.sharing.own import OwnSharing

router = ApiRouter("privacy", "erasure", role="privacy")

NamedTextsQuery = Annotated[
    NamedTexts,
    Query(description="What happens to texts of others that have the user's full name."),
]
ErasureId = Annotated[str, Path(min_length=1, max_length=128, description="The id of an erasure.")]


@router.delete("/v1/users/<user_id>", "Erase a user's data", status=202, audit="user")
def erase_user(user_id: UserId, named_texts: NamedTextsQuery = "keep") -> ErasureResource:
    """The erasure starts at once and takes more than 15 minutes (idempotent).

    Texts that others wrote stay. `named_texts` decides about those that contain the user's full
    name: they are kept, lose the name, or are removed.
    """
    caller = router.caller
    erasure = service(Erasures).request(
        caller.tenant, user_id, by=caller.user_id, named_texts=named_texts
    )
    return ErasureResource.of(erasure)


@router.get(
    "/v1/users/<user_id>/erasure-preview", "Preview the erasure of a user's data", audit="erasure"
)
def preview_erasure(user_id: UserId) -> ErasurePreviewResource:
    """Nothing changes. Look at the texts with the user's full name before you erase the user."""
    preview = service(ErasurePreviews).of(router.caller.tenant, user_id)
    return ErasurePreviewResource.from_preview(preview)


@router.get("/v1/erasures", "List the erasures of users, newest first")
def list_erasures(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ErasurePage:
    """Each finished erasure has its report. A page may be short."""
    page = service(Erasures).list(router.caller.tenant, limit=limit, cursor=cursor)
    return ErasurePage.of(page)


@router.get("/v1/erasures/<erasure_id>", "Get the status and report of an erasure")
def get_erasure(erasure_id: ErasureId) -> ErasureResource:
    """A finished erasure stays as a record of ids and numbers, without data of the user."""
    return ErasureResource.of(service(Erasures).get(router.caller.tenant, erasure_id))


@router.get("/v1/users/<user_id>/export", "Export a user's data", audit="export")
def export_user(user_id: UserId, cursor: PageCursor = None) -> ExportResource:
    """Each page of the export is one JSON document. The last page has no `next_cursor`."""
    page = service(Exports).page(router.caller.tenant, user_id, cursor=cursor)
    sharing = service(OwnSharing)
    view = sharing.view(page.user.tenant, page.user.as_member) if cursor is None else None
    disclosures = sharing.named(page.user.tenant, page.disclosures)
    now, files = app().ports.clock.now(), files_of(app().ports.table, page.messages)
    return ExportResource(
        user=UserDetail.detailed(page.user, private=True),
        usage=tuple(starmap(PersonUsageResource.from_parts, page.usage.items())),
        chats=tuple(PlaceResource.from_parts(own.chat, own.membership) for own in page.chats),
        messages=tuple(MessageResource.of(message, now, files) for message in page.messages),
        deliveries=tuple(map(DeliveryResource.of, page.deliveries)),
        files=tuple(map(ExportedFileResource.of, page.files)),
        devices=tuple(map(DeviceResource.of, page.devices)),
        invitations=tuple(starmap(ExportedInvitation.to, page.invitations)),
        consents=tuple(map(ConsentResource.of, page.consents)),
        sharing_rules=tuple(map(OwnSharingRule.of, view.rules)) if view is not None else (),
        disclosures=tuple(starmap(DisclosedWords.made, disclosures)),
        text_consents=tuple(
            one
            for address, consents in page.text_consents.items()
            for one in TextConsentPage.on_address(address, consents).items
        ),
        visit=ExportedVisit.of(page.visit) if page.visit is not None else None,
        kept=tuple(KeptResource(**kept._asdict()) for kept in page.kept),
        next_cursor=page.next_cursor,
    )
