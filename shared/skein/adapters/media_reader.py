"""Pictures and documents of people: check what they really are, and remove what they reveal.

Pictures are decoded and encoded again, so that nothing of the original file is left but its pixels:
no place, no device, no comment, and nothing that was appended. The libraries are imported at the
first file.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skein.errors import MediaRefused
from skein.models.chats.media import MAX_BYTES, MAX_PIXELS, MAX_TEXT_CHARACTERS
from skein.models.common.file import CheckedFile

if TYPE_CHECKING:
    from PIL.Image import Image

LIBRARIES = ("PIL.Image", "PIL.ImageOps", "PIL.ImageCms", "pi_heif", "pypdf")

OPENED = ("JPEG", "PNG", "WEBP", "HEIF")  # the formats that Pillow may open
# How each format is stored. A JPEG may have several pictures (MPO); the first one is taken.
FORMATS = {"JPEG": "JPEG", "MPO": "JPEG", "PNG": "PNG", "WEBP": "WEBP", "HEIF": "JPEG"}
TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
QUALITY = 88
PLAIN_MODES = {
    "JPEG": frozenset({"L", "RGB"}),
    "PNG": frozenset({"1", "L", "LA", "P", "RGB", "RGBA"}),
    "WEBP": frozenset({"RGB", "RGBA"}),
}
CLAIMED_TEXTS = frozenset({"text/plain", "text/vcard", "text/x-vcard", "text/directory"})
VCARD = b"BEGIN:VCARD"
MARKUP = ("<!doctype", "<html", "<script", "<svg", "<?xml", "<body", "<iframe")
BEGINNING = 4_096  # characters in which markup is looked for
CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}  # that no text has
MAX_PAGES = 200
SMALLEST_SIDE = 320  # pixels, to which a picture is shrunk at most


class LibraryMediaReader:
    """`MediaReader` by Pillow and pypdf."""

    def check(self, content: bytes, claimed: str) -> CheckedFile:
        """See `skein.ports.MediaReader`."""
        if len(content) > MAX_BYTES:
            raise MediaRefused("too_large")
        if content.startswith(b"%PDF-"):
            return _document(content)
        if claimed in CLAIMED_TEXTS:
            return _text(content)
        return self._picture(content)

    def shrunk(self, content: bytes, max_bytes: int) -> bytes | None:
        """See `skein.ports.MediaReader`."""
        image = _decoded(content)
        side = max(image.size)
        while True:
            smaller = image.copy()
            smaller.thumbnail((side, side))
            made = _encoded(smaller, "JPEG")
            if len(made) <= max_bytes:
                return made
            side = side * 3 // 4
            if side < SMALLEST_SIDE:
                return None

    @staticmethod
    def _picture(content: bytes) -> CheckedFile:
        image = _decoded(content)
        stored_as = FORMATS[image.format or ""]
        plain = _in_srgb(_upright(image))
        return CheckedFile(
            content=_encoded(plain, stored_as),
            content_type=TYPES[stored_as],
            width=plain.width,
            height=plain.height,
        )


def _decoded(content: bytes) -> Image:
    """Decode a picture.

    Raises:
        MediaRefused: The content is no picture of an allowed format, is damaged or has too many
            pixels. These are compared before anything is decoded.
    """
    import pi_heif
    from PIL import (  # noqa: F401 - importing a plugin registers its format
        Image,
        JpegImagePlugin,
        PngImagePlugin,
        UnidentifiedImageError,
        WebPImagePlugin,
    )

    pi_heif.register_heif_opener()
    try:
        image = Image.open(io.BytesIO(content), formats=OPENED)
    except UnidentifiedImageError:
        raise MediaRefused("type_refused") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise MediaRefused("too_large") from error
    except Exception as error:
        raise MediaRefused("unreadable") from error
    if image.width * image.height > MAX_PIXELS:
        raise MediaRefused("too_large")
    try:
        image.load()
    except Exception as error:
        raise MediaRefused("unreadable") from error
    return image


def _upright(image: Image) -> Image:
    """Return the picture as its metadata say that it is to be shown."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged metadata, which are removed anyway
        return image


def _in_srgb(image: Image) -> Image:
    """Return the picture with the colours that it has without its colour profile."""
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    if not profile or image.mode not in {"RGB", "RGBA", "CMYK"}:
        return image
    mode = "RGBA" if image.mode == "RGBA" else "RGB"
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(
            image, source, ImageCms.createProfile("sRGB"), outputMode=mode
        )
    except Exception:  # a damaged or unusual profile
        return image
    return converted or image


def _encoded(image: Image, stored_as: str) -> bytes:
    """Encode a picture, without anything but its pixels."""
    if image.mode not in PLAIN_MODES[stored_as]:
        clear = stored_as != "JPEG" and (
            "A" in image.mode or "transparency" in image.info or image.mode == "PA"
        )
        image = image.convert("RGBA" if clear else "RGB")
    transparency = image.info.get("transparency") if stored_as == "PNG" else None
    image.info.clear()
    more: dict[str, Any] = {"transparency": transparency} if transparency is not None else {}
    made = io.BytesIO()
    image.save(made, stored_as, quality=QUALITY, **more)
    return made.getvalue()


def _document(content: bytes) -> CheckedFile:
    """Check a PDF, and read its text; an encrypted one or one without text has none.

    Raises:
        MediaRefused: The PDF is damaged.
    """
    text = _read_pdf(content)
    return CheckedFile(content=content, content_type="application/pdf", text=text)


def _read_pdf(content: bytes) -> str:
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
        if reader.is_encrypted:
            return ""
        pages, length = list[str](), 0
        for page in reader.pages[:MAX_PAGES]:
            pages.append(_read_page(page.extract_text))
            length += len(pages[-1])
            if length > MAX_TEXT_CHARACTERS:
                break
    except Exception as error:  # a library of damaged files raises whatever it finds
        raise MediaRefused("unreadable") from error
    text = "\n\n".join(page for page in pages if page)
    return text[:MAX_TEXT_CHARACTERS]


def _read_page(extract: Callable[[], str]) -> str:
    """Return the text of a page; a page that cannot be read has none."""
    try:
        text = extract()
    except Exception:
        return ""
    return text.encode("utf-8", "ignore").decode().replace("\x00", "").strip()


def _text(content: bytes) -> CheckedFile:
    """Check a text or a contact.

    Raises:
        MediaRefused: The content is not text in UTF-8, or a page for a browser.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MediaRefused("type_refused") from None
    beginning = text[:BEGINNING].lower()
    if not CONTROLS.isdisjoint(map(ord, text)) or any(tag in beginning for tag in MARKUP):
        raise MediaRefused("type_refused")
    contact = content.lstrip()[: len(VCARD)].upper() == VCARD
    return CheckedFile(
        content=text.encode(),
        content_type="text/vcard" if contact else "text/plain",
        text=text[:MAX_TEXT_CHARACTERS],
    )
