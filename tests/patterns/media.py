"""Pictures and files: uploads, messages that have them, and what the worker does."""

import hashlib

from skein.media.receiving import MediaReceiver
from skein.media.uploads import MediaUploads
from skein.models.chats.chat import Media
from skein.models.common.file import FileUpload
from skein.models.outbox.jobs import MediaJob
from skein.services.chats.post_message import NewMessage
from skein.services.chats.posted_media import files_of
from tests.patterns.chats import on_a_line, text_message
from tests.patterns.meter import Meter, Patterns
from tests.patterns.worlds import HUSAM, direct
from tests.support.builders import TENANT, World
from tests.support.pictures import picture

patterns = Patterns()

PICTURE = picture()
UPLOAD = FileUpload(
    content_type="image/jpeg", size=len(PICTURE), sha256=hashlib.sha256(PICTURE).hexdigest()
)


def uploaded(world: World) -> str:
    begun = world.app.get(MediaUploads).begin(TENANT, HUSAM, "chat_1", UPLOAD)
    world.files.upload(begun.signed.url, begun.signed.headers, PICTURE)
    return begun.file.id


def post(world: World, media_id: str) -> None:
    new = NewMessage(
        tenant=TENANT, chat_id="chat_1", sender=HUSAM.ref, text="Look", client_id="picture"
    )
    new, writes = world.app.get(MediaUploads).attach(new, [media_id])
    world.app.app_messages.post(new, extra_writes=writes)


@patterns.named("announce an upload")
def _announce(meter: Meter) -> None:
    world = direct()
    with meter(world):
        world.app.get(MediaUploads).begin(TENANT, HUSAM, "chat_1", UPLOAD)


@patterns.named("post a message with an uploaded picture")
def _post(meter: Meter) -> None:
    world = direct()
    media_id = uploaded(world)
    with meter(world):
        post(world, media_id)


@patterns.named("check a picture, with an answer that waits for it")
def _check(meter: Meter) -> None:
    world = direct()
    media_id = uploaded(world)
    post(world, media_id)
    job = MediaJob(tenant=TENANT, chat_id="chat_1", media_id=media_id)
    with meter(world):
        world.app.get(MediaReceiver).take(job)


@patterns.named("receive an SMS with a picture")
def _receive(meter: Meter) -> None:
    world = on_a_line(known=True)
    media = (Media(url="https://api.twilio.com/ME1", content_type="image/jpeg"),)
    with meter(world):
        world.app.sms_receiver.receive(text_message().model_copy(update={"media": media}))


@patterns.named("show the files of a page of messages")
def _show(meter: Meter) -> None:
    world = direct()
    post(world, uploaded(world))
    messages = world.messages()
    with meter(world):
        files_of(world.app.ports.table, messages)


@patterns.named("sign a link to a picture")
def _link(meter: Meter) -> None:
    world = direct()
    media_id = uploaded(world)
    post(world, media_id)
    world.drain()
    with meter(world):
        world.app.get(MediaUploads).link(TENANT, HUSAM.id, "chat_1", media_id)
