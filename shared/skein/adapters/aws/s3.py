"""Pictures and files of messages in a bucket of S3."""

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.errors import AWS_ERRORS, AwsError, meaning_of
from skein.models.common.file import FileUpload, SignedUpload, StoredFile

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

READ_SECONDS = 10
TRIES = 3
# The codes for an object that does not exist. The role may list the bucket; otherwise S3 would
# return 403.
ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})


def s3_client(aws: Aws) -> "S3Client":
    """Create a client for S3; its signed URLs contain the region, and no checksum by default."""
    client: S3Client = aws.client(
        "s3",
        read_seconds=READ_SECONDS,
        tries=TRIES,
        signature_version="s3v4",
        s3={"addressing_style": "virtual"},
        request_checksum_calculation="when_required",
    )
    return client


@dataclass(frozen=True, slots=True)
class S3Files:
    """`Files` in S3.

    Args:
        client: A client, for example from `s3_client`.
    """

    client: "S3Client"
    bucket: str

    def put(self, name: str, content: bytes, content_type: str) -> None:
        try:
            self.client.put_object(
                Bucket=self.bucket,
                Key=name,
                Body=content,
                ContentType=content_type,
                ChecksumAlgorithm="SHA256",
            )
        except AWS_ERRORS as error:
            raise meaning_of(error, writing=True) from error

    def get(self, name: str) -> bytes | None:
        try:
            return self.client.get_object(Bucket=self.bucket, Key=name)["Body"].read()
        except AWS_ERRORS as error:
            if _is_absent(error):
                return None
            raise meaning_of(error, writing=False) from error

    def head(self, name: str) -> StoredFile | None:
        try:
            found = self.client.head_object(Bucket=self.bucket, Key=name, ChecksumMode="ENABLED")
        except AWS_ERRORS as error:
            if _is_absent(error):
                return None
            raise meaning_of(error, writing=False) from error
        checksum = found.get("ChecksumSHA256")
        return StoredFile(
            size=found["ContentLength"],
            sha256=base64.b64decode(checksum).hex() if checksum else None,
        )

    def delete(self, name: str) -> None:
        try:
            self.client.delete_object(Bucket=self.bucket, Key=name)
        except AWS_ERRORS as error:
            raise meaning_of(error, writing=True) from error

    def copy(self, source: str, target: str) -> bool:
        try:
            self.client.copy_object(
                Bucket=self.bucket, Key=target, CopySource={"Bucket": self.bucket, "Key": source}
            )
        except AWS_ERRORS as error:
            if _is_absent(error):
                return False
            raise meaning_of(error, writing=True) from error
        return True

    def upload_url(self, name: str, upload: FileUpload, *, seconds: int) -> SignedUpload:
        """See `skein.ports.Files`; S3 checks the body against the three signed headers."""
        checksum = base64.b64encode(bytes.fromhex(upload.sha256)).decode()
        url = self.client.generate_presigned_url(
            "put_object",
            Params={
                "Bucket": self.bucket,
                "Key": name,
                "ContentType": upload.content_type,
                "ContentLength": upload.size,
                "ChecksumSHA256": checksum,
            },
            ExpiresIn=seconds,
        )
        return SignedUpload(
            url=url,
            headers={
                "content-type": upload.content_type,
                "content-length": str(upload.size),
                "x-amz-checksum-sha256": checksum,
            },
        )

    def download_url(self, name: str, *, content_type: str, inline: bool, seconds: int) -> str:
        url: str = self.client.generate_presigned_url(
            "get_object",
            Params={
                "Bucket": self.bucket,
                "Key": name,
                "ResponseContentType": content_type,
                "ResponseContentDisposition": "inline" if inline else "attachment",
                "ResponseCacheControl": "private, no-store",
            },
            ExpiresIn=seconds,
        )
        return url


def _is_absent(error: AwsError) -> bool:
    return isinstance(error, ClientError) and error.response["Error"]["Code"] in ABSENT
