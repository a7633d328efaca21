"""An agent sends a picture back while a function dies at every call: one message, one MMS."""

import pytest

from skein.errors import NotFound
from skein.models.chats.media import MediaFile
from skein.models.delivery.media_link import MediaLink
from skein.services.delivery.media_links import OpenedLinks
from tests.faults.deployment import every_death
from tests.faults.media_story import MMS, PICTURE, files_in
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.faults.texting_story import TEXT, SmsLine
from tests.support.builders import TENANT, bot
from tests.support.fakes import calls

HOUR = 3_600


class SentBack(SmsLine):
    """Somebody has texted a picture, asks for it, and gets it back."""

    def __init__(self) -> None:
        super().__init__()
        self.sms.media_files = {dict(MMS.fields)["MediaUrl0"]: PICTURE}
        self.model.default = lambda _: "Thanks!"
        self.tell(MMS)
        self.fuse.disarm()
        sends = calls(("send_message", {"text": "Here it is", "media": ["1.1"]}))
        self.model.default = lambda request: (
            "[silence]" if any(each.role == "tool" for each in request.messages) else sends
        )

    def check_sent(self) -> None:
        chat_id = str(self.chat_id)
        *_, answer = self.messages(chat_id)
        assert answer.seq == len(self.messages(chat_id)) == 4
        assert (answer.sender, answer.text) == (bot(), "Here it is")
        original, copy = sorted(files_in(self, chat_id), key=lambda file: file.seq or 0)
        assert [media.id for media in answer.media] == [copy.id]
        assert (copy.copied_from, copy.state, copy.seq) == (original.id, "ready", answer.seq)
        assert set(self.files.contents) == {original.file_name, copy.file_name}
        _, sms = [sms for sms, _ in self.sms.taken]
        assert (sms.body, sms.link) == ("Here it is", None)
        assert self.at_rest
        self._check_links(copy)

    def _check_links(self, copy: MediaFile) -> None:
        """Every link is for the one person and the one file, and has expired by now."""
        items = [item for pk, item in self.table.all_items().items() if pk.pk.startswith("MEDIAL")]
        links = [MediaLink.from_item(item) for item in items]
        assert {(each.tenant, each.chat_id, each.media_id) for each in links} <= {
            (TENANT, copy.chat_id, copy.id)
        }
        assert {each.user_id for each in links} <= {self.deliveries(copy.chat_id)[0].user_id}
        url = self.sms.taken[-1][0].media_url
        assert url is not None
        self.clock.advance(HOUR)
        with pytest.raises(NotFound):
            self.app.get(OpenedLinks).open(url.rpartition("/")[2])


SWEEP = Sweep(SentBack, play=lambda world: world.tell(TEXT), check=SentBack.check_sent)


def test_picture_is_sent_back_once_after_a_death_at_each_call(share: FaultShare) -> None:
    SWEEP.one_death(share, of=every_death)
