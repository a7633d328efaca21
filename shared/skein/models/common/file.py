"""Files outside of the table: uploads, stored files and signed URLs."""

from typing import Annotated

from pydantic import Field, StringConstraints

from skein.models.common.base import Value

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
MediaType = Annotated[str, StringConstraints(min_length=3, max_length=200)]


class FileUpload(Value):
    """A file that a client is about to upload; nothing else is accepted at the signed URL.

    Attributes:
        content_type: The media type, such as `image/jpeg`.
        size: The length in bytes.
        sha256: The checksum, in hexadecimal.
    """

    content_type: MediaType
    size: Annotated[int, Field(ge=1)]
    sha256: Sha256


class SignedUpload(Value):
    """Where to upload a file, with the headers that the request must have."""

    url: Annotated[str, Field(repr=False)]
    headers: dict[str, str]


class CheckedFile(Value):
    """A checked file with its real type, and without hidden metadata.

    Attributes:
        width: The width of a picture in pixels; None for a document.
        height: The height of a picture in pixels; None for a document.
        text: The text of a document, which may be empty; None for a picture.
    """

    content: Annotated[bytes, Field(repr=False)]
    content_type: MediaType
    width: int | None = None
    height: int | None = None
    text: Annotated[str | None, Field(repr=False)] = None


class StoredFile(Value):
    """A stored file.

    Attributes:
        size: The length in bytes.
        sha256: The checksum, in hexadecimal; None if it was not stated.
    """

    size: int
    sha256: Sha256 | None = None
