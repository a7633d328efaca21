"""Load the bytes of the pictures that are sent to a model.

A recorded prompt contains only references to pictures. The bytes are read just before the model
call, so a picture that was deleted in the meantime is not sent.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from skein.errors import Transient
from skein.models.chats.media import file_name_of
from skein.models.runs.completion import ImageRef, ModelMessage
from skein.ports import Files, ParallelMap

GONE = "{label} was deleted."
NOT_LOADED = "{label} could not be loaded."

logger = logging.getLogger(__name__)


class SentPictures(NamedTuple):
    """The messages of a model request, and the bytes of their pictures by picture id."""

    messages: tuple[ModelMessage, ...]
    image_bytes: Mapping[str, bytes] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The service that reads the pictures of prompts.

    Args:
        files: Opens the store of files; called only if a prompt has pictures.
    """

    files: Callable[[], Files]
    parallel_map: ParallelMap

    def sent(self, tenant: str, messages: Sequence[ModelMessage]) -> SentPictures:
        """Load the pictures of messages, and replace each missing picture with a sentence.

        A picture is missing if it was deleted or cannot be loaded at the moment. The model then
        answers without the picture, so that the person does not have to wait.
        """
        images = {image.media_id: image for message in messages for image in message.images}
        loaded = self.parallel_map(lambda image: self._load(tenant, image), list(images.values()))
        found = dict(zip(images, loaded, strict=True))
        return SentPictures(
            tuple(_with_remarks(message, found) for message in messages),
            {id_: got for id_, got in found.items() if isinstance(got, bytes)},
        )

    def _load(self, tenant: str, image: ImageRef) -> bytes | str:
        try:
            content = self.files().get(file_name_of(tenant, image.chat_id, image.media_id))
        except Transient as error:
            logger.warning("a picture could not be loaded", exc_info=error)
            return NOT_LOADED.format(label=image.label)
        return GONE.format(label=image.label) if content is None else content


def _with_remarks(message: ModelMessage, found: Mapping[str, bytes | str]) -> ModelMessage:
    kept = tuple(image for image in message.images if isinstance(found[image.media_id], bytes))
    remarks = [found[image.media_id] for image in message.images if image not in kept]
    if not remarks:
        return message
    content = " ".join([message.content, *map(str, remarks)])
    return message.model_copy(update={"content": content, "images": kept})
