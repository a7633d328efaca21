"""Pictures and documents of people: check what they really are, and remove what they reveal.

Pictures are decoded and encoded again, so that nothing of the original file is left but its pixels:
no place, no device, no comment, and nothing that was appended. A file can be made to keep its
decoder busy for hours. So `media_decoding.py` decodes each in a process of its own, which ends
after some seconds of work. Lambda has no shared memory, which `multiprocessing` needs.
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

DECODER = "skein.adapters.media_decoding"
SECONDS = 60.0  # in which the decoder gets the 10 seconds of a processor that it may use
INHERITED = ("LD_LIBRARY_PATH",)  # of the environment; the decoder gets no secrets
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}  # each further thread's would reserve addresses
MAX_SCANS = 100  # of a JPEG; one of a browser or a phone has at most a dozen
JPEG = b"\xff\xd8"
MARKER = re.compile(rb"\xff+([\x01-\xcf\xd8-\xfe])")  # not the restarts within a scan
START_OF_SCAN, END = 0xDA, 0xD9
BARE = frozenset({0x01, 0xD8})  # markers without a length
CLAIMED_TEXTS = frozenset({"text/plain", "text/vcard", "text/x-vcard", "text/directory"})
VCARD = b"BEGIN:VCARD"
MARKUP = ("<!doctype", "<html", "<script", "<svg", "<?xml", "<body", "<iframe")
BEGINNING = 4_096  # characters in which markup is looked for
CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}  # that no text has


@dataclass(frozen=True, slots=True)
class LibraryMediaReader:
    """`MediaReader` by Pillow and pypdf.

    Attributes:
        cpu_seconds: How long a processor may work on a file.
        memory: How many bytes of addresses its process may use.
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

    def shrunk(self, content: bytes, max_bytes: int) -> bytes | None:
        _, made = self._decoded(content, "small", MAX_PIXELS, max_bytes)
        return made or None

    def _decoded(self, content: bytes, task: str, *numbers: int) -> tuple[dict[str, Any], bytes]:
        """Run the decoder on a file, and return what it found and made.

        Raises:
            MediaRefused: The file is refused, or took more time or memory than a file may take.
            RuntimeError: The decoder does not work.
        """
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        path = os.pathsep.join(filter(None, sys.path))
        arguments = (self.cpu_seconds, self.memory, task, *numbers)
        try:
            done = subprocess.run(  # noqa: S603 - nothing of the arguments is a user's
                # Without the packages of the site and the current folder: the path has all.
                [sys.executable, "-S", "-P", "-m", DECODER, *map(str, arguments)],
                env={**inherited, **ONE_ARENA, "PYTHONPATH": path},
                input=content,
                capture_output=True,
                start_new_session=True,  # what interrupts this process says nothing of the file
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MediaRefused("unreadable") from None
        if done.returncode < 0:  # ended by a signal, such as that of a limit
            raise MediaRefused("unreadable")
        if done.returncode > 0:
            raise RuntimeError(f"the decoder failed: {done.stderr.decode(errors='replace')[-500:]}")
        line, _, made = done.stdout.partition(b"\n")
        described: dict[str, Any] = json.loads(line)
        if "refused" in described:
            raise MediaRefused(described["refused"])
        return described, made


def _has_many_scans(content: bytes) -> bool:
    """Tell whether a JPEG repeats its picture in more scans than any program makes.

    Each scan takes as long as a whole picture, and 60,000 fit into the length of a file.
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
