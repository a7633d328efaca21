"""Requests and resources of uploads and links."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field

from skein.models.api.base import EXAMPLE_TIME, Id, Request, Resource
from skein.models.chats.media import MAX_BYTES
from skein.models.common.base import EntityId, Instant
from skein.models.common.file import FileUpload, MediaType, SignedUpload
from skein.models.common.json_types import NUMBER

EXAMPLE_FILE = "med_01M8052A0RRXM7989ADR524XMF"


class NewUpload(Request):
    """A file that is about to be uploaded."""

    type: Annotated[MediaType, Field(description="The media type, such as `application/pdf`.")]
    bytes: Annotated[
        int, Field(ge=1, le=MAX_BYTES, description="The length, at most 5,000,000."), NUMBER
    ]
    sha256: Annotated[
        str,
        Field(pattern=r"^[0-9a-f]{64}$", description="The SHA-256 checksum, in hexadecimal."),
    ]

    @property
    def upload(self) -> FileUpload:
        """The announced file, in the form that the services use."""
        return FileUpload(content_type=self.type, size=self.bytes, sha256=self.sha256)


class NewMedia(NewUpload):
    """A file that is about to be uploaded for a message of a chat."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "chat_id": "chat_01M806VB1EXYCSVB1T1S3JF1YZ",
                "type": "image/jpeg",
                "bytes": 48213,
                "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            }
        }
    )

    chat_id: Annotated[EntityId, Field(description="The id of the chat.")]
    type: Annotated[
        MediaType,
        Field(
            description="The media type: `image/jpeg`, `image/png`, `image/webp`, `image/heic`, "
            "`application/pdf`, `text/plain` or `text/vcard`."
        ),
    ]


class UploadResource(Resource):
    """Where to upload a file: send its bytes as the body, by this method and with these headers."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": EXAMPLE_FILE,
                "url": "https://bucket.example/incoming/...",
                "method": "PUT",
                "headers": {"content-type": "image/jpeg"},
                "expires_at": EXAMPLE_TIME,
            }
        }
    )

    id: Id
    url: Annotated[str, Field(description="The signed URL. It needs no token.")]
    method: Annotated[Literal["PUT"], Field(description="The method of the request.")]
    headers: Annotated[
        dict[str, str], Field(description="The headers of the request: type, length, checksum.")
    ]
    expires_at: Annotated[Instant, Field(description="Until when the URL works.")]

    @classmethod
    def to(cls, media_id: str, signed: SignedUpload, ends_at: Instant) -> Self:
        return cls(
            id=media_id, url=signed.url, method="PUT", headers=signed.headers, expires_at=ends_at
        )


class MediaLinkResource(Resource):
    """A signed URL of a file, for the caller."""

    url: Annotated[str, Field(description="The signed URL. It needs no token.")]
    expires_at: Annotated[Instant, Field(description="Until when the URL works.")]
