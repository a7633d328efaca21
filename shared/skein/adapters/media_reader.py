"""Pictures and documents from people: check their real format, and remove hidden metadata.

Pictures are decoded and encoded again, so that only the pixels of the original file are left: no
location, no device, no comment and no appended data. A hostile file can keep its decoder busy for
hours. So `media_decoding.py` decodes each file in a separate process, which is ended after some
seconds of CPU time. `multiprocessing` is not used, because Lambda lacks the shared memory it needs.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from skein.errors import MediaRefused
from skein.models.chats.media import MAX_BYTES, MAX_PIXELS, MAX_TEXT_CHARACTERS
from skein.models.common.file import CheckedFile
from skein.ports import DocumentFormat

DECODER = "skein.adapters.media_decoding"
SECONDS = 60.0  # the time-out of the decoder, which may use 10 seconds of CPU time
INHERITED = ("LD_LIBRARY_PATH",)  # passed to the decoder, which gets no secrets
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}  # each further thread would reserve address space
MAX_DOCUMENT_CHARACTERS = 2_000_000
MAX_SCANS = 100  # scans of a JPEG; browsers and phones write at most a dozen
JPEG = b"\xff\xd8"
MARKER = re.compile(rb"\xff+([\x01-\xcf\xd8-\xfe])")  # excludes the restart markers within a scan
START_OF_SCAN, END = 0xDA, 0xD9
BARE = frozenset({0x01, 0xD8})  # markers without a length
CLAIMED_TEXTS = frozenset({"text/plain", "text/vcard", "text/x-vcard", "text/directory"})
VCARD = b"BEGIN:VCARD"
MARKUP = ("<!doctype", "<html", "<script", "<svg", "<?xml", "<body", "<iframe")
BEGINNING = 4_096  # the number of characters that are searched for markup
CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}  # bytes that text never contains


@dataclass(frozen=True, slots=True)
class LibraryMediaReader:
    """`MediaReader` by Pillow, pypdf and markdownify.

    Attributes:
        cpu_seconds: The CPU time that a file may take, in seconds.
        memory: The address space that the process may use, in bytes.
    """

    cpu_seconds: int = 10
    memory: int = 512 * 1024 * 1024

    def check(self, content: bytes, claimed: str) -> CheckedFile:
        if len(content) > MAX_BYTES:
            raise MediaRefused("too_large")
        if content.startswith(b"%PDF-"):
            _, text = self._decoded(content, "document", MAX_TEXT_CHARACTERS)
            return CheckedFile(content=content, content_type="application/pdf", text=text.decode())
        if claimed in CLAIMED_TEXTS:
            return _text(content)
        if content.startswith(JPEG) and _has_many_scans(content):
            raise MediaRefused("unreadable")
        described, picture = self._decoded(content, "picture", MAX_PIXELS)
        return CheckedFile(content=picture, **described)

    def text(self, content: bytes, kind: DocumentFormat) -> str:
        _, text = self._decoded(content, kind, MAX_DOCUMENT_CHARACTERS)
        return text.decode()

    def shrunk(self, content: bytes, max_bytes: int) -> bytes | None:
        _, made = self._decoded(content, "small", MAX_PIXELS, max_bytes)
        return made or None

    def _decoded(self, content: bytes, task: str, *numbers: int) -> tuple[dict[str, Any], bytes]:
        """Return what the decoder found and made.

        Raises:
            MediaRefused: The file is refused, or exceeded the limit of time or memory.
            RuntimeError: The decoder does not work.
        """
        described, made = self._run(content, task, *numbers)
        if "refused" in described:
            raise MediaRefused(described["refused"])
        return described, made

    def _run(self, content: bytes, task: str, *numbers: int) -> tuple[dict[str, Any], bytes]:
        """Run the decoder on a file in a process of its own."""
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        path = os.pathsep.join(filter(None, sys.path))
        arguments = (self.cpu_seconds, self.memory, task, *numbers)
        try:
            done = subprocess.run(  # noqa: S603 - nothing of the arguments is a user's
                # Without site packages and the current folder: PYTHONPATH holds everything that is
                # needed.
                [sys.executable, "-S", "-P", "-m", DECODER, *map(str, arguments)],
                env={**inherited, **ONE_ARENA, "PYTHONPATH": path},
                input=content,
                capture_output=True,
                start_new_session=True,  # an interrupt of this process must not end the decoder
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MediaRefused("unreadable") from None
        if done.returncode < 0:  # ended by a signal, for example when a limit is exceeded
            raise MediaRefused("unreadable")
        if done.returncode > 0:
            raise RuntimeError(f"the decoder failed: {done.stderr.decode(errors='replace')[-500:]}")
        line, _, made = done.stdout.partition(b"\n")
        return json.loads(line), made


def _has_many_scans(content: bytes) -> bool:
    """Return whether a JPEG repeats its picture in more scans than any program produces.

    Each scan takes as long to decode as a whole picture, and a file has room for 60,000.
    """
    at, scans = len(JPEG), 0
    while scans <= MAX_SCANS and (found := MARKER.search(content, at)) is not None:
        marker, at = found[1][0], found.end()
        if marker == END:
            break
        if marker not in BARE:
            at += int.from_bytes(content[at : at + 2], "big")
        scans += marker == START_OF_SCAN
    return scans > MAX_SCANS


def _text(content: bytes) -> CheckedFile:
    """Check a text or a contact.

    Raises:
        MediaRefused: The content is not UTF-8 text, or it is a web page.
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
