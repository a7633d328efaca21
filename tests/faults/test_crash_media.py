"""Pictures come in while a function dies at every call: no file without its item, one answer."""

import hashlib

from skein.media.uploads import MediaUploads
from skein.models.common.base import NamedMember
from skein.models.common.file import FileUpload
from tests.faults.deployment import Deployment, Phone, every_death
from tests.faults.media_story import MMS, PICTURE, files_in
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import SmsLine
from tests.support.builders import TENANT, bot, person
from tests.support.template import running

ZOE: NamedMember = person("usr_zoe", "Zoë")


def check_files(world: Deployment, chat_id: str) -> None:
    """One message has one file, stored once, clean and described; it was answered once."""
    asked, answer = world.messages(chat_id)
    [file] = files_in(world, chat_id)
    assert [media.id for media in asked.media] == [file.id]
    assert (file.state, file.seq, file.source) == ("ready", 1, None)
    assert [media.description for media in asked.media] == [file.description] == ["A picture."]
    assert set(world.files.contents) == {file.file_name}
    assert answer.sender == bot()
    assert world.membership(bot(), chat_id).awaited_media is None


class Texted(SmsLine):
    """Somebody texts a picture, which Twilio holds."""

    def __init__(self) -> None:
        super().__init__()
        self.sms.media_files = {dict(MMS.fields)["MediaUrl0"]: PICTURE}

    def check(self, **_: int) -> None:
        assert self.chat_id is not None
        check_files(self, self.chat_id)
        assert len(self.sms.bodies) == 1
        assert self.at_rest


class Uploaded(Deployment):
    """An app has uploaded a picture, and is about to post it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.known(ZOE)
        self.chat(ZOE, bot())
        upload = FileUpload(
            content_type="image/jpeg",
            size=len(PICTURE),
            sha256=hashlib.sha256(PICTURE).hexdigest(),
        )
        with running("MobileApi"):
            begun = self.app.get(MediaUploads).begin(TENANT, ZOE, "chat_1", upload)
        self.media_id = begun.file.id
        self.files.upload(begun.signed.url, begun.signed.headers, PICTURE)

    def post(self) -> None:  # type: ignore[override]
        phone = Phone(self, sub=ZOE.id, claims={"name": "Zoë"})
        phone.post("/v1/chats/chat_1/messages", {"media": [self.media_id], "client_id": "1"})
        self.live()


def deleted_and_posted(world: Uploaded) -> None:
    """The sender deletes the message, and its erasure ends."""
    world.post()
    Phone(world, sub=ZOE.id, claims={"name": "Zoë"}).delete("/v1/chats/chat_1/messages/1")
    world.live()


def nothing_left(world: Uploaded) -> None:
    assert files_in(world, "chat_1") == []
    assert world.files.contents == {}
    assert world.at_rest


TEXTED = Sweep(
    Texted,
    play=lambda world: world.tell(MMS),
    check=lambda world: world.check(),
)
UPLOADED = Sweep(
    Uploaded, play=lambda world: world.post(), check=lambda world: check_files(world, "chat_1")
)
DELETED = Sweep(Uploaded, play=deleted_and_posted, check=nothing_left)


def test_picture_without_death_is_fetched_once() -> None:
    world = TEXTED.undisturbed()
    assert world.fuse.calls.count("sms.media") == 1
    assert world.fuse.calls.count("files.put") == 1
    assert len(world.model.description_requests) == 1


def test_texted_picture_arrives_after_a_death_at_each_call(share: FaultShare) -> None:
    TEXTED.one_death(share, of=every_death)


def test_uploaded_picture_arrives_after_a_death_at_each_call(share: FaultShare) -> None:
    UPLOADED.one_death(share, of=every_death)


def test_deleted_picture_leaves_nothing_after_a_death_at_each_call(share: FaultShare) -> None:
    DELETED.one_death(share, of=every_death)
