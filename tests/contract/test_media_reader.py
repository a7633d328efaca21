"""The reader of files: what they really are, and what is left of them."""

import base64
import io
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageCms

from local.template import ROOT
from skein.adapters.media_reader import LibraryMediaReader
from skein.errors import MediaRefused
from skein.models.chats.media import MAX_BYTES, MAX_TEXT_CHARACTERS
from skein.models.common.file import CheckedFile
from tests.fakes.media_reader import MemoryMediaReader
from tests.support.each import check_each
from tests.support.pictures import (
    HTML,
    PLACE,
    bomb,
    document,
    picture,
    with_place,
    with_scans,
)

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'
GIF = picture("GIF", mode="P")
# A red square of 64 x 64 pixels, as phones of Apple store it; no library here can make one.
HEIC = base64.b85decode(
    "0000SW^{RQXk}?*00000ZE0pPXk}?*ZE0a<00042ZDn*}000000000XXk=`10000000000aA{+70000000000000"
    "0000000B57=IV*mgE07O6l0RRC200001dH?|c00000000>P001LtX>Mi!000000RR916=`l}WdZ;I000310BCk&F"
    "#rGn01j|zbZr0t000010002iX>f9I0002DX>en20001ZXm(>m0RwOV0058x000009`FGC{rLC*01pFT0096PKmiN"
    "^|NjGU00093kN^M!000939=ZZRVE_RDD?$MQ18@KU0|1Z!00RI30{|YNAb|yz>PacCZUPz%2mk;B0LTCU0{{p>Vg"
    "LaE2SfqEa<C#m0000JV{dG7ZewhC0096E00w{n000zeb8uw<00000002M$002M$000nhX?SS>000032nYxO000+h"
    "aBX1#00000000310R({p0|Wp703mH;VRQfh02L?!uLKzUc{uC;`dLrkP#0_rM?-)"
)


@pytest.fixture(
    params=[
        pytest.param(LibraryMediaReader, id="process", marks=pytest.mark.slow),
        pytest.param(MemoryMediaReader, id="memory"),
    ]
)
def reader(request: pytest.FixtureRequest) -> LibraryMediaReader:
    made: LibraryMediaReader = request.param()
    return made


def opened(content: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(content))
    image.load()
    return image


# A process for each takes a tenth of a second, so `make test` decodes the other files in its own.
IN_PROCESSES = {
    "JPEG": (with_place("JPEG"), "image/jpeg"),
    "HEIC": (HEIC, "image/heic"),
    "document": (document("Rest on Monday"), "image/png"),
    "too large": (bomb(), "image/png"),
    "type refused": (HTML, "image/png"),
    "unreadable": (picture()[:200], "image/jpeg"),
    "unreadable document": (b"%PDF-1.7 nothing", "application/pdf"),
}


@pytest.mark.check
def test_decoder_in_a_process_finds_and_makes_the_same() -> None:
    check_each(IN_PROCESSES, _assert_alike)


def _assert_alike(file: tuple[bytes, str]) -> None:
    assert _outcome(LibraryMediaReader(), *file) == _outcome(MemoryMediaReader(), *file)


def _outcome(reader: LibraryMediaReader, content: bytes, claimed: str) -> CheckedFile | str | None:
    """What is left of a file, or the reason to refuse it."""
    try:
        return reader.check(content, claimed)
    except MediaRefused as refused:
        return refused.reason


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_picture_keeps_its_format_and_size_whatever_is_claimed(
    reader: LibraryMediaReader, kind: str
) -> None:
    checked = reader.check(picture(kind), "application/octet-stream")
    assert checked.content_type == f"image/{kind.lower()}"
    assert (checked.width, checked.height, checked.text) == (64, 48, None)
    assert opened(checked.content).format == kind


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_picture_is_rotated_upright_and_loses_its_location(
    reader: LibraryMediaReader, kind: str
) -> None:
    original = with_place(kind)
    assert PLACE in original
    checked = reader.check(original, "image/jpeg")
    assert (checked.width, checked.height) == (48, 64)  # it was taken sideways
    image = opened(checked.content)
    assert PLACE not in checked.content
    assert not image.getexif()
    assert not {"exif", "xmp", "comment", "icc_profile", "dpi"} & image.info.keys()


def test_picture_loses_its_comment_and_appended_bytes(reader: LibraryMediaReader) -> None:
    hostile = picture("JPEG", comment=b"call me") + HTML
    checked = reader.check(hostile, "image/jpeg")
    assert b"call me" not in checked.content
    assert b"script" not in checked.content


def test_colours_of_a_profile_are_kept_without_it(reader: LibraryMediaReader) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    checked = reader.check(picture("PNG", icc_profile=profile), "image/png")
    assert opened(checked.content).convert("RGB").getpixel((1, 1)) == (255, 0, 0)
    assert b"iCCP" not in checked.content


@pytest.mark.parametrize("mode", ["CMYK", "L", "1"])
def test_picture_of_any_colours_is_taken(reader: LibraryMediaReader, mode: str) -> None:
    kind = "PNG" if mode == "1" else "JPEG"
    assert reader.check(picture(kind, mode=mode), "image/jpeg").width == 64


def test_clear_parts_of_a_picture_stay_clear(reader: LibraryMediaReader) -> None:
    checked = reader.check(picture("PNG", mode="LA"), "image/png")
    assert opened(checked.content).mode == "LA"


def test_picture_of_a_phone_becomes_a_jpeg(reader: LibraryMediaReader) -> None:
    checked = reader.check(HEIC, "image/heic")
    assert checked.content_type == "image/jpeg"
    assert (checked.width, checked.height) == (64, 64)


@pytest.mark.parametrize(
    ("content", "claimed", "reason"),
    [
        pytest.param(bomb(), "image/png", "too_large", id="decompression bomb"),
        pytest.param(bomb(5_001, 5_000), "image/png", "too_large", id="more than 25 megapixels"),
        pytest.param(b"\xff" * (MAX_BYTES + 1), "image/jpeg", "too_large", id="too many bytes"),
        pytest.param(SVG, "image/svg+xml", "type_refused", id="SVG"),
        pytest.param(SVG, "text/plain", "type_refused", id="SVG named as text"),
        pytest.param(HTML, "image/png", "type_refused", id="HTML named as PNG"),
        pytest.param(HTML, "text/plain", "type_refused", id="HTML named as text"),
        pytest.param(b"hi \x00\x01", "text/plain", "type_refused", id="binary named as text"),
        pytest.param(b"\xff\xfe\x00h", "text/plain", "type_refused", id="no UTF-8"),
        pytest.param(GIF, "image/gif", "type_refused", id="GIF"),
        pytest.param(b"", "image/jpeg", "type_refused", id="empty"),
        pytest.param(picture()[:200], "image/jpeg", "unreadable", id="truncated JPEG"),
        pytest.param(picture("PNG")[:60], "image/png", "unreadable", id="truncated PNG"),
        pytest.param(with_scans(101), "image/jpeg", "unreadable", id="JPEG of 101 scans"),
        pytest.param(b"%PDF-1.7 nothing", "application/pdf", "unreadable", id="damaged PDF"),
    ],
)
def test_hostile_file_is_refused(
    reader: LibraryMediaReader, content: bytes, claimed: str, reason: str
) -> None:
    with pytest.raises(MediaRefused) as refused:
        reader.check(content, claimed)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (document("Rest on Monday", "Run on Tuesday"), "Rest on Monday\n\nRun on Tuesday"),
        (document(""), ""),
        (document("Rest", encrypted=True), ""),
    ],
    ids=["text", "no text", "encrypted"],
)
def test_text_of_a_document_is_read_if_there_is_any(
    reader: LibraryMediaReader, content: bytes, text: str
) -> None:
    checked = reader.check(content, "image/png")
    assert (checked.content_type, checked.text) == ("application/pdf", text)
    assert checked.content == content


def test_huge_document_is_read_up_to_the_limit() -> None:
    long = document(*["word " * (MAX_TEXT_CHARACTERS // 10)] * 3)
    checked = LibraryMediaReader().check(long, "application/pdf")
    assert checked.text is not None
    assert len(checked.text) == MAX_TEXT_CHARACTERS


def test_contact_card_and_plain_text_get_their_content_types(reader: LibraryMediaReader) -> None:
    card = "BEGIN:VCARD\r\nFN:Zoë\r\nEND:VCARD"
    assert reader.check(card.encode(), "text/x-vcard").content_type == "text/vcard"
    checked = reader.check(b"\xef\xbb\xbfHello\n", "text/plain")
    assert (checked.content_type, checked.content, checked.text) == (
        "text/plain",
        b"Hello\n",
        "Hello\n",
    )


def test_picture_is_shrunk_to_the_limit_or_not_returned() -> None:
    noise = io.BytesIO()
    Image.effect_noise((600, 450), 90).convert("RGB").save(noise, "PNG")
    small = LibraryMediaReader().shrunk(noise.getvalue(), 50_000)
    assert small is not None
    assert len(small) <= 50_000
    assert opened(small).format == "JPEG"
    assert LibraryMediaReader().shrunk(noise.getvalue(), 100) is None


def test_jpeg_of_many_scans_is_refused_before_it_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = LibraryMediaReader()
    assert reader.check(with_scans(100), "image/jpeg").width == 64
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    with pytest.raises(MediaRefused):
        reader.check(with_scans(60_000), "image/jpeg")


def test_markers_that_belong_to_no_scan_are_not_counted(reader: LibraryMediaReader) -> None:
    scans = b"\xff\xda" * 200
    inside = picture("JPEG", comment=scans)
    assert reader.check(inside + scans, "image/jpeg").width == 64


@pytest.mark.check
def test_file_that_takes_too_much_time_of_a_processor_is_refused() -> None:
    busy = document(f"Rest) Tj {'q Q ' * 500_000} (Run")
    with pytest.raises(MediaRefused, match="unreadable"):
        LibraryMediaReader(cpu_seconds=1).check(busy, "application/pdf")


def test_picture_that_takes_too_much_memory_is_too_large() -> None:
    reader, large = LibraryMediaReader(memory=100_000_000), picture("JPEG", (4_000, 4_000))
    with pytest.raises(MediaRefused, match="too_large"):
        reader.check(large, "image/jpeg")
    with pytest.raises(MediaRefused, match="too_large"):
        reader.shrunk(large, 600_000)


@pytest.mark.check
def test_largest_picture_fits_into_the_memory() -> None:
    assert LibraryMediaReader().check(picture("JPEG", (5_000, 5_000)), "image/jpeg").width == 5_000


def test_decoder_that_does_not_work_refuses_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "shared")])  # without Pillow
    with pytest.raises(RuntimeError, match="No module named 'PIL'"):
        LibraryMediaReader().check(picture(), "image/jpeg")


def test_decoder_gets_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "skein" / "adapters"
    folder.mkdir(parents=True)
    (folder / "media_decoding.py").write_text("import os, sys; sys.exit(str(dict(os.environ)))")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(RuntimeError, match="PYTHONPATH") as failed:
        LibraryMediaReader().check(picture(), "image/jpeg")
    assert "AWS" not in str(failed.value)
