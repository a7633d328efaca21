"""The files of a chat, and a text with a picture."""

from skein.models.chats.chat import chat_partition
from skein.models.chats.media import MediaFile
from skein.models.common.storage import Query
from tests.faults.deployment import Deployment
from tests.support.builders import TENANT
from tests.support.pictures import picture
from tests.support.webhooks import Webhook

MMS = Webhook.recorded("sms_webhook_media")
PICTURE = picture()


def files_in(world: Deployment, chat_id: str) -> list[MediaFile]:
    page = world.table.query(Query.under(chat_partition(TENANT, chat_id), MediaFile.PREFIX))
    return [MediaFile.from_item(item) for item in page.items]
