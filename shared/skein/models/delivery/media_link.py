"""Links to the files of messages. Each link is for one person, and expires after five minutes."""

import hashlib
from datetime import timedelta

from skein.models.common.base import Identifier, Instant, Stored, Tenant
from skein.models.common.storage import META, Item, Key

LINK_LIFETIME = timedelta(minutes=5)
LINK_PATH = "/v1/m/"


class MediaLink(Stored):
    """A link with which one person, or the provider that sends to them, gets a file.

    The token of the link is a secret. Only its hash is stored, as the key.

    Attributes:
        hash: The SHA-256 of the token, in hexadecimal digits.
        chat_id, media_id: The file.
        user_id: The person for whom the link was made.
        small: Whether the link is to the smaller copy of a picture.
        ends_at: When the link expires.
    """

    tenant: Tenant
    hash: str
    chat_id: Identifier
    media_id: Identifier
    user_id: Identifier
    small: bool = False
    ends_at: Instant

    @staticmethod
    def hash_of(token: str) -> str:
        """Return the hash of a token, as stored in `hash`."""
        return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()

    @staticmethod
    def key_of(token_hash: str) -> "Key[MediaLink]":
        """Return the key of a link; it has no tenant, since a request knows only the token."""
        return Key(f"MEDIALINK#{token_hash}", META)

    @property
    def key(self) -> "Key[MediaLink]":
        return self.key_of(self.hash)

    def to_item(self) -> Item:
        return self.attributes() | {"expires_at": int(self.ends_at.timestamp()) + 1}
