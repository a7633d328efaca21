"""Pictures and documents of people, harmless and hostile."""

import io
import struct
import zlib
from typing import Any

from PIL import Image
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

PLACE = b"50.0753N 14.4378E"
HTML = b"<!DOCTYPE html><script>alert(1)</script>"


def picture(
    kind: str = "JPEG", size: tuple[int, int] = (64, 48), mode: str = "RGB", **more: Any
) -> bytes:
    """A small picture of one colour."""
    made = io.BytesIO()
    Image.new(mode, size, "red" if mode in {"RGB", "RGBA"} else 1).save(made, kind, **more)
    return made.getvalue()


def with_place(kind: str = "JPEG", orientation: int = 6) -> bytes:
    """A picture that was taken sideways, and says where."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010E] = PLACE.decode()
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[29] = PLACE.decode()
    return picture(kind, exif=exif.tobytes())


def bomb(width: int = 20_000, height: int = 20_000) -> bytes:
    """A PNG of a few bytes that says it has 400 million pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def with_scans(scans: int, size: tuple[int, int] = (64, 48)) -> bytes:
    """A progressive JPEG that repeats its last scan, so that it has so many."""
    progressive = picture(size=size, progressive=True)
    last = progressive.rindex(b"\xff\xda")
    more = scans - progressive.count(b"\xff\xda")
    return progressive[:last] + progressive[last:-2] * (more + 1) + progressive[-2:]


def document(*pages: str, encrypted: bool = False) -> bytes:
    """A PDF with a line of text on each page."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if encrypted:
        writer.encrypt("secret", algorithm="RC4-128")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()
