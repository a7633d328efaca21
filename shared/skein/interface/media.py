"""Choose which pictures and files of the active chat a prompt shows, and how.

A model that accepts pictures gets the newest pictures of the history, up to a maximum number and a
token limit. All other pictures are described in the history. The history also shows the beginning
of each document, newest first. The documents together take at most a quarter of the history's
tokens.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skein.interface.history import History
from skein.interface.reading import Reading, SectionItems, SectionReads
from skein.interface.section import SEPARATOR, Section
from skein.interface.timeline import media_name
from skein.models.chats.chat import Message
from skein.models.chats.media import MediaFile
from skein.models.common.image_models import takes_images
from skein.models.common.storage import Key
from skein.models.runs.completion import ImageRef
from skein.models.visibility.provenance import Authors
from skein.ports import TokenCounter
from skein.prompts import render
from skein.services.common.quoting import quoted

MAX_FILES = 20  # files of the newest messages; each takes a place in the batch of the reading
EXCERPT_SHARE = 4  # documents take at most a quarter of the history's tokens
IMAGE_SHARE = 2  # pictures take at most half of the prompt's tokens
READ_ON = "read_document"


@dataclass(frozen=True, slots=True)
class MessageMedia(SectionItems):
    """The files of the newest messages in the active chat, by id."""

    files: Mapping[str, MediaFile] = field(default_factory=dict)
    in_reads = ("with_media",)
    optional = True

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the newest files."""
        chat = read.chat
        if chat is None:
            return []
        ids = [media_id for message in reversed(read.with_media) for media_id in message.media_ids]
        return [MediaFile.key_of(chat.tenant, chat.id, each) for each in ids[:MAX_FILES]]

    @classmethod
    def found(cls, read: SectionReads) -> "MessageMedia":
        """Keep the files that have not expired."""
        stored = MediaFile.read_each(read.found, cls.keys(read))
        return cls({file.id: file for file in stored if file.kept_until > read.now})

    def authors(self) -> Iterable[Authors]:
        """Return no authors: `History` already returns those of the messages with these files."""
        return ()


class ShownMedia(NamedTuple):
    """The pictures and captions that a prompt includes.

    Attributes:
        images: The pictures that the model gets, in the order of their messages.
        captions: The caption of each file in the history, by id.
    """

    images: tuple[ImageRef, ...] = ()
    captions: Mapping[str, str] = {}

    def within(self, seqs: Iterable[int]) -> tuple[ImageRef, ...]:
        """Return the pictures of the messages with these `seq` values."""
        shown = set(seqs)
        return tuple(image for image in self.images if image.seq in shown)


NO_MEDIA = ShownMedia()


def shown_media(
    reading: Reading,
    model: str,
    counter: TokenCounter,
    *,
    tokens_left: int,
    reads_on: bool,
    after: int | None = None,
) -> ShownMedia:
    """Choose the pictures that the model gets, and render the captions of all files.

    Args:
        model: The name of the model.
        counter: The tokenizer.
        tokens_left: The tokens that are left for the whole prompt.
        reads_on: Whether the agent has the tool that reads the rest of a document.
        after: The model gets the pictures before the message with this `seq`; None if it gets them
            after all messages.
    """
    files = reading.of(MessageMedia).files
    newest = list(_newest_first(reading.of(History).messages, files))
    images = _images(newest, reading, model, tokens_left)
    sent = {image.media_id for image in images}
    left = reading.config.effective.max_context_tokens // EXCERPT_SHARE
    captions: dict[str, str] = {}
    for message, number, file in newest:
        name = media_name(file.content_type, message.seq, number)
        if file.state != "ready":
            captions[file.id] = _not_loaded(name, file)
        elif file.is_image:
            shown = _place(message.seq, after) if file.id in sent else "not shown"
            captions[file.id] = _described(f"{name}, {shown}", None if file.id in sent else file)
        else:
            excerpt = counter.cut(file.excerpt or "", left) if left > 0 else ""
            left -= counter.count(quoted(excerpt))
            captions[file.id] = _document(name, file, excerpt, reads_on=reads_on)
    return ShownMedia(images, captions)


def pictures(images: Sequence[ImageRef], tokens: int, counter: TokenCounter) -> Section:
    """Render the text that introduces the pictures; its size counts the pictures, too."""
    labels = ", ".join(image.label for image in images)
    text = f"PICTURES ({labels}): {render('pictures')}"
    return Section("PICTURES", text, counter.count(text + SEPARATOR) + tokens)


def _place(seq: int, after: int | None) -> str:
    return "shown below" if after is None or seq < after else "shown above"


def _newest_first(
    messages: Sequence[Message], files: Mapping[str, MediaFile]
) -> Iterator[tuple[Message, int, MediaFile]]:
    """Yield each file with its message and its position in the message, newest first."""
    for message in reversed(messages):
        for number, media in reversed(list(enumerate(message.media, 1))):
            file = files.get(media.id or "")
            if file is not None and file.seq == message.seq:
                yield message, number, file


def _images(
    newest: Iterable[tuple[Message, int, MediaFile]],
    reading: Reading,
    model: str,
    tokens_left: int,
) -> tuple[ImageRef, ...]:
    """Return the newest pictures within the limits, in the order of their messages."""
    limits = reading.config.effective
    if not takes_images(model, limits.models_with_images):
        return ()
    left, chosen = min(limits.image_tokens, tokens_left // IMAGE_SHARE), list[ImageRef]()
    for message, number, file in newest:
        if not file.is_image or file.state != "ready" or file.width is None or file.height is None:
            continue
        image = ImageRef(
            chat_id=file.chat_id,
            media_id=file.id,
            seq=message.seq,
            number=number,
            content_type=file.content_type,
            width=file.width,
            height=file.height,
        )
        left -= image.tokens(model, limits.image_detail)
        if left < 0 or len(chosen) == limits.max_images:
            break
        chosen.append(image)
    return tuple(reversed(chosen))


def _not_loaded(name: str, file: MediaFile) -> str:
    if file.state == "pending":
        return f"[{name}, not loaded yet]"
    why = f": {file.reason.replace('_', ' ')}" if file.reason is not None else ""
    return f"[{name}, not loaded{why}]"


def _described(name: str, file: MediaFile | None) -> str:
    if file is None or file.description is None:
        return f"[{name}]"
    return f"[{name}: {quoted(file.description)}]"


def _document(name: str, file: MediaFile, excerpt: str, *, reads_on: bool) -> str:
    facts = [f"{name}: {file.content_type}, {file.characters:,} characters"]
    if excerpt:
        facts.append(f"begins {quoted(excerpt)}")
    if reads_on and len(excerpt) < file.characters:
        facts.append(f"{READ_ON} {quoted(file.id)} reads on")
    return f"[{'; '.join(facts)}]"
