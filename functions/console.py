"""Handler that serves the console and the web chat: their files, and the console's settings."""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.public_files import PublicFile
from skein.bootstrap import app
from skein.errors import NotFound
from skein.http import JSON_HEADERS, error_response
from skein.logs import logged
from skein.settings import Settings

LAYER_FOLDER = Path("/opt/console")
REPOSITORY_FOLDER = Path(__file__).resolve().parents[1] / "console"
WIDGET_FOLDER = "clients/widget/dist"

HOME = "/console/"
WIDGET = "/widget/"
CONFIG = "config"
INDEX = "index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
SCOPES = ("chat", "support", "privacy", "owner", "admin")

SECURITY_HEADERS = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
# Pages of all origins load the web chat. The gateway adds the headers of CORS, for those that check
# its hash.
WIDGET_HEADERS = {
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}
UNCHANGING = "public, max-age=31536000, immutable"
NEWEST = "public, max-age=600, stale-while-revalidate=86400"
SOURCES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)


@logged
def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Return a file of the console. If no file has the requested path, return the first page."""
    settings = app().ports.settings
    path = str(event["rawPath"])
    if path in {"/", HOME.rstrip("/")}:
        return {"statusCode": 302, "headers": {"location": HOME}}
    if path.startswith(WIDGET):
        return _widget(event, path.removeprefix(WIDGET))
    name = path.removeprefix(HOME) or INDEX
    if name == CONFIG:
        return _json(config(settings))
    found = files().get(name)
    if found is None:
        return error_response(NotFound("file not found"))
    policy = {"content-security-policy": content_security_policy(settings)}
    return found.answer(event, SECURITY_HEADERS | policy)


@cache
def files() -> Mapping[str, PublicFile]:
    """Read all files of the console, by their path in its folder.

    Requests can only get these files, so a path can't lead out of the folder.
    """
    folder = LAYER_FOLDER if LAYER_FOLDER.is_dir() else REPOSITORY_FOLDER
    return {
        path.relative_to(folder).as_posix(): PublicFile(path.read_bytes(), TYPES[path.suffix])
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES
    }


def _widget(event: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a version of the web chat's script.

    Browsers may keep a numbered version forever, because it never changes. `v1.js` is the newest
    version.
    """
    found = widgets().get(name)
    if found is None:
        return error_response(NotFound("file not found"))
    return found.answer(event, WIDGET_HEADERS, UNCHANGING if "/" in name else NEWEST)


@cache
def widgets() -> Mapping[str, PublicFile]:
    """Read all versions of the web chat, by their path after `/widget/`."""
    root = LAYER_FOLDER.parent if LAYER_FOLDER.is_dir() else REPOSITORY_FOLDER.parent
    paths = sorted(
        (root / WIDGET_FOLDER).glob("*.js"), key=lambda path: [*map(int, path.stem.split("."))]
    )
    found = {f"{path.stem}/chat.js": PublicFile(path.read_bytes(), TYPES[".js"]) for path in paths}
    return found | {"v1.js": [*found.values()][-1]}


def config(settings: Settings) -> dict[str, Any]:
    """Return the configuration that the console needs before a person has signed in."""
    return {
        "issuer": settings.console_issuer,
        "client_id": settings.console_client_id,
        "audience": settings.console_audience,
        "scope_prefix": settings.jwt_scope_prefix,
        "scopes": ["openid", *(f"{settings.jwt_scope_prefix}{scope}" for scope in SCOPES)],
        "live": bool(settings.live_url),
        "local": settings.local,
    }


def content_security_policy(settings: Settings) -> str:
    """Return the policy: own files; calls to the API, issuer, live channel and media bucket."""
    addresses = (settings.console_issuer, settings.live_url, *settings.console_origins)
    origins = dict.fromkeys(
        [*(_origin(address) for address in addresses if address), *_bucket(settings)]
    )
    return "; ".join((*SOURCES, " ".join(("connect-src", "'self'", *origins))))


def _bucket(settings: Settings) -> tuple[str, ...]:
    """Return the origin of the signed media URLs; empty on a local stack."""
    region = os.environ.get("AWS_REGION")
    if settings.local or region is None:
        return ()
    return (f"https://{settings.media_bucket}.s3.{region}.amazonaws.com",)


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _json(value: object) -> dict[str, Any]:
    headers = {**JSON_HEADERS, **SECURITY_HEADERS, "cache-control": "no-store"}
    return {"statusCode": 200, "headers": headers, "body": json.dumps(value)}
