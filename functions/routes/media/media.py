"""Routes with which people upload pictures and files, and download those of their chats."""

from routes.app import ChatId, MediaId
from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.media.api import MediaLinkResource, NewMedia, UploadResource
from skein.media.uploads import MediaUploads
from skein.models.chats.media import MediaFile

router = ApiRouter("media", Unaudited(CONVERSATION))


@router.post("/v1/media", "Create an upload for an image or file", 404, 409)
def begin_upload(new: NewMedia) -> UploadResource:
    """Upload the file to the URL, then post a message that names the file's id.

    The URL accepts only this file, and expires after ten minutes. A file that no message names is
    deleted after a day.
    """
    caller = router.caller
    uploads = service(MediaUploads)
    begun = router.once(
        MediaFile,
        lambda: uploads.begin(caller.tenant, caller.person, new.chat_id, new.upload),
        lambda media_id: uploads.begun(caller.tenant, caller.person, new.chat_id, media_id),
    )
    return UploadResource.to(begun.file.id, begun.signed, begun.ends_at)


@router.get(
    "/v1/chats/<chat_id>/media/<media_id>", "Get a link to an image or file in a message", 409
)
def get_media(chat_id: ChatId, media_id: MediaId) -> MediaLinkResource:
    """The URL works for five minutes. While the file is `pending`, the call answers 409.

    At the URL, browsers show a picture, and save any other file.
    """
    caller = router.caller
    link = service(MediaUploads).link(caller.tenant, caller.user_id, chat_id, media_id)
    return MediaLinkResource(url=link.url, expires_at=link.ends_at)
