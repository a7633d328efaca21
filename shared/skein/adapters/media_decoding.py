"""Decode one picture or document; `media_reader.py` runs this program for each untrusted file.

The program reads the file from standard input, and writes a line of JSON and the content to
standard output. A new process starts for each file, so the program imports as little as possible.
The process's environment has no secrets.
"""

from __future__ import annotations

import io
import json
import re
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from skein.errors import MediaRefused

if TYPE_CHECKING:
    from PIL.Image import Image

OPENED = ("JPEG", "PNG", "WEBP", "HEIF")  # the formats that Pillow may open
# How each format is stored. A JPEG may hold several pictures (MPO); the first one is used.
FORMATS = {"JPEG": "JPEG", "MPO": "JPEG", "PNG": "PNG", "WEBP": "WEBP", "HEIF": "JPEG"}
TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
QUALITY = 88
PLAIN_MODES = {
    "JPEG": frozenset({"L", "RGB"}),
    "PNG": frozenset({"1", "L", "LA", "P", "RGB", "RGBA"}),
    "WEBP": frozenset({"RGB", "RGBA"}),
}
MAX_PAGES = 200
PAGE_END = "\f"
NO_CONTENT = ["nav", "header", "footer", "aside", "script", "form", "style", "noscript", "template"]
MANY_LINES = re.compile(r"\n\s*\n\s*")
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
WORD_TEXT = frozenset({f"{WORD}t", f"{WORD}tab", f"{WORD}br"})
HEADING_STYLE = re.compile(r"(?:Heading|heading |Title|berschrift)([1-6])")
MAX_XML_BYTES = 20_000_000  # of a Word document's text, before it is decompressed
SMALLEST_SIDE = 320  # pixels; a picture is not shrunk further

Made = tuple[dict[str, Any], bytes]


def main(cpu_seconds: str, memory: str, task: str, *numbers: str) -> None:
    """Carry out a task on the file from standard input, within limits for this process.

    Args:
        cpu_seconds: The limit of CPU time, in seconds.
        memory: The limit of address space, in bytes.
        task: One of `_TASKS`.
        numbers: The arguments of the task.
    """
    _, libraries = _TASKS[task]
    for library in libraries:  # before the limits apply
        import_module(library)
    _limit_this_process(int(cpu_seconds), int(memory))
    described, content = decoded(task, sys.stdin.buffer.read(), *map(int, numbers))
    sys.stdout.buffer.write(json.dumps(described).encode() + b"\n" + content)


def decoded(task: str, content: bytes, *numbers: int) -> Made:
    """Carry out a task on a file; if the file is refused, the reason is returned instead.

    Args:
        task: One of `_TASKS`.
        content: The file.
        numbers: The arguments of the task.
    """
    decode, _ = _TASKS[task]
    try:
        return decode(content, *numbers)
    except MediaRefused as refused:
        return {"refused": refused.reason}, b""
    except MemoryError:
        return {"refused": "too_large"}, b""


def _limit_this_process(cpu_seconds: int, memory: int) -> None:
    limits = (
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, most in limits:
        with suppress(ValueError, OSError):  # macOS does not limit addresses
            resource.setrlimit(kind, (most, most))


def checked_picture(content: bytes, max_pixels: int) -> Made:
    """Return a picture reduced to its pixels, without metadata."""
    image = _opened(content, max_pixels)
    stored_as = FORMATS[image.format or ""]
    image = _upright(image)  # frees the memory of the decoded picture
    image = _in_srgb(image)
    shown = {"content_type": TYPES[stored_as], "width": image.width, "height": image.height}
    return shown, _encoded(image, stored_as)


def small_picture(content: bytes, max_pixels: int, max_bytes: int) -> Made:
    """Return a picture as a JPEG of at most `max_bytes`; empty if the limit is too small."""
    image = _opened(content, max_pixels)
    side = max(image.size)
    while True:
        smaller = image.copy()
        smaller.thumbnail((side, side))
        made = _encoded(smaller, "JPEG")
        if len(made) <= max_bytes:
            return {}, made
        side = side * 3 // 4
        if side < SMALLEST_SIDE:
            return {}, b""


def _opened(content: bytes, max_pixels: int) -> Image:
    """Decode a picture.

    Raises:
        MediaRefused: The content is not a picture of an allowed format, is damaged or has too many
            pixels. The number of pixels is checked before anything is decoded.
    """
    import pi_heif
    from PIL import Image, UnidentifiedImageError

    pi_heif.register_heif_opener()
    try:
        image = Image.open(io.BytesIO(content), formats=OPENED)
    except UnidentifiedImageError:
        raise MediaRefused("type_refused") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise MediaRefused("too_large") from error
    except Exception as error:
        raise MediaRefused("unreadable") from error
    if image.width * image.height > max_pixels:
        raise MediaRefused("too_large")
    try:
        image.load()
    except MemoryError:
        raise
    except Exception as error:
        raise MediaRefused("unreadable") from error
    return image


def _upright(image: Image) -> Image:
    """Return the picture turned upright according to its metadata."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except MemoryError:
        raise
    except Exception:  # damaged metadata, which is removed anyway
        return image


def _in_srgb(image: Image) -> Image:
    """Return the picture with its colours converted to sRGB, so that it needs no colour profile."""
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
    except MemoryError:
        raise
    except Exception:  # a damaged or unusual profile
        return image
    return converted or image


def _encoded(image: Image, stored_as: str) -> bytes:
    """Encode only the pixels of a picture."""
    if image.mode not in PLAIN_MODES[stored_as]:
        clear = stored_as != "JPEG" and (
            "A" in image.mode or "transparency" in image.info or image.mode == "PA"
        )
        image = image.convert("RGBA" if clear else "RGB")
    transparency = image.info.get("transparency") if stored_as == "PNG" else None
    image.info.clear()
    more: dict[str, Any] = {"transparency": transparency} if transparency is not None else {}
    made = io.BytesIO()
    try:
        image.save(made, stored_as, quality=QUALITY, **more)
    except (OSError, ValueError) as error:  # encoders raise this when memory is short
        raise MediaRefused("too_large") from error
    return made.getvalue()


def text_of_document(content: bytes, max_characters: int) -> Made:
    """Return the beginning of a PDF's text; empty if the PDF is encrypted or has no text.

    Raises:
        MediaRefused: The PDF is damaged.
    """
    text = "\n\n".join(page for page in _pages_of(content, max_characters) if page)
    return {}, text[:max_characters].encode()


def text_of_pdf(content: bytes, max_characters: int) -> Made:
    """Return a PDF's text, with a form feed between pages; see `text_of_document`."""
    return _limited(PAGE_END.join(_pages_of(content, max_characters)), max_characters)


def text_of_page(content: bytes, max_characters: int) -> Made:
    """Return the main part of a web page as Markdown, below its title."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    try:
        page = BeautifulSoup(content, "html.parser")
        title = page.title.get_text(" ", strip=True) if page.title else ""
        main = page.find("main") or page.body or page
        for part in main.find_all(NO_CONTENT):
            part.decompose()
        converter = MarkdownConverter(
            heading_style="ATX",
            strip=["a", "img"],
            escape_asterisks=False,
            escape_underscores=False,
        )
        text = converter.convert_soup(main)
    except MemoryError:
        raise
    except Exception as error:  # the libraries may raise any exception for a hostile page
        raise MediaRefused("unreadable") from error
    if text.strip() and title and not main.find("h1"):
        text = f"# {title}\n\n{text}"
    return _limited(MANY_LINES.sub("\n\n", text), max_characters)


def text_of_docx(content: bytes, max_characters: int) -> Made:
    """Return the text of a Word document as Markdown: headings, paragraphs and rows of tables.

    Raises:
        MediaRefused: The content is no Word document, or is damaged or too large.
    """
    from xml.etree import ElementTree
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(io.BytesIO(content)) as packed:
            part = packed.getinfo("word/document.xml")
            if part.file_size > MAX_XML_BYTES:
                raise MediaRefused("too_large")
            # Entities cannot expand without limit: this process has limits of time and memory.
            document = ElementTree.fromstring(packed.read(part))  # noqa: S314
            body = document.find(f"{WORD}body")
    except KeyError:
        raise MediaRefused("type_refused") from None
    except (BadZipFile, ElementTree.ParseError, OSError, RuntimeError, ValueError) as error:
        raise MediaRefused("unreadable") from error
    parts = [_word_block(each) for each in (body if body is not None else ())]
    return _limited("\n\n".join(filter(None, parts)), max_characters)


def _word_block(block: Any) -> str:
    """Return a paragraph, a heading, or a table with a line for each row."""
    if block.tag == f"{WORD}tbl":
        rows = (
            [_word_text(cell) for cell in row.iter(f"{WORD}tc")] for row in block.iter(f"{WORD}tr")
        )
        return "\n".join(" | ".join(row) for row in rows)
    style = block.find(f"{WORD}pPr/{WORD}pStyle")
    named = HEADING_STYLE.fullmatch(style.get(f"{WORD}val", "")) if style is not None else None
    text = _word_text(block)
    return f"{'#' * int(named[1])} {text}" if named and text else text


def _word_text(block: Any) -> str:
    return "".join(
        (each.text or "") if each.tag == f"{WORD}t" else "\t" if each.tag == f"{WORD}tab" else " "
        for each in block.iter()
        if each.tag in WORD_TEXT
    ).strip()


def _limited(text: str, max_characters: int) -> Made:
    if len(text) > max_characters:
        raise MediaRefused("too_large")
    return {}, text.encode("utf-8", "ignore")


def _pages_of(content: bytes, max_characters: int) -> list[str]:
    """Return the text of each page, until there are more than `max_characters` characters."""
    from pypdf import PdfReader

    pages, length = list[str](), 0
    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
        for page in () if reader.is_encrypted else reader.pages[:MAX_PAGES]:
            pages.append(_read_page(page.extract_text))
            length += len(pages[-1])
            if length > max_characters:
                break
    except Exception as error:  # the library may raise any exception for a damaged file
        raise MediaRefused("unreadable") from error
    return pages


def _read_page(extract: Callable[[], str]) -> str:
    """Return the text of a page; empty if the page cannot be read."""
    try:
        text = extract()
    except Exception:
        return ""
    return text.encode("utf-8", "ignore").decode().replace("\x00", "").strip()


# The function of each task, and the libraries that it imports before the limits apply.
_PICTURES = (
    *("PIL.ImageCms", "PIL.ImageOps", "pi_heif"),
    *("PIL.JpegImagePlugin", "PIL.PngImagePlugin", "PIL.WebPImagePlugin"),
)
_TASKS: dict[str, tuple[Callable[..., Made], tuple[str, ...]]] = {
    "picture": (checked_picture, _PICTURES),
    "small": (small_picture, _PICTURES),
    "document": (text_of_document, ("pypdf",)),
    "pdf": (text_of_pdf, ("pypdf",)),
    "html": (text_of_page, ("markdownify",)),
    "docx": (text_of_docx, ("xml.etree.ElementTree", "zipfile")),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
