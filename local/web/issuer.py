"""Local issuer: people sign in to the console with one click, by OpenID Connect.

It replaces the identity provider of a deployment. Like everything under `/local`, it can be reached
only from this machine. It implements the code flow with PKCE:
https://openid.net/specs/openid-connect-core-1_0.html and https://www.rfc-editor.org/rfc/rfc7636
"""

import base64
import hashlib
import html
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from local.day.actors import TENANT as DAY_TENANT
from local.demo import TENANT
from local.environment import CONSOLE_CLIENT
from local.events import Request, Response, json_response
from local.web.token_signer import TOKEN_SECONDS, TokenSigner

DISCOVERY = "/local/.well-known/openid-configuration"
KEYS = "/local/.well-known/jwks.json"
AUTHORIZE = "/local/authorize"
TOKEN = "/local/oauth/token"  # noqa: S105 - a path

CONSOLE_PATH = "/console/"
CODE_SECONDS = 60
MAX_CODES = 1_000
MAX_NAME = 200
OPERATOR = "operator"
OPERATOR_NAME = "Operator"
HEADINGS = {TENANT: "Your own stack", DAY_TENANT: "The clinic of the recorded day"}
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
USER_ID = re.compile(r"[!-~]{1,128}")
ASKED = ("client_id", "redirect_uri", "response_type", "state", "code_challenge", "nonce")

POLICY = (
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
PAGE_HEADERS = (
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-store"),
    ("content-security-policy", POLICY),
    ("referrer-policy", "same-origin"),  # a form sends its `Origin` only then
    ("x-content-type-options", "nosniff"),
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in - Skein on this machine</title>
<link rel="stylesheet" href="/console/console.css">
</head>
<body class="issuer">
<main>
<h1>Sign in</h1>
<p>This page stands in for the identity provider of a deployment. Choose who you are.</p>
{forms}
</main>
</body>
</html>
"""
FORM = """<h2>{heading}</h2>
<form method="post">
{hidden}
<ul class="choices">
{choices}
</ul>
<label for="name-{tenant}">Another person</label>
<div class="row">
<input id="name-{tenant}" name="name" maxlength="{max_name}" autocomplete="off" placeholder="Ann">
<button name="user" value="">Sign in</button>
</div>
</form>"""
CHOICE = """<li>
<button name="user" value="{id}"><strong>{name}</strong> <span>{about}</span></button>
</li>"""
HIDDEN = '<input type="hidden" name="{name}" value="{value}">'


class RefusedRequestError(Exception):
    """A request breaks the protocol; `code` is OAuth's error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Person:
    """A person of the local stack, as shown on the sign-in page."""

    id: str
    name: str
    tenant: str = TENANT


@dataclass(frozen=True)
class _Grant:
    """The sign-in for which a code was issued. It is kept until the code is used or expires."""

    person: Person
    scope: str
    redirect_uri: str
    challenge: str
    nonce: str
    ends_at: float


class LocalIssuer:
    """OpenID Connect issuer of the local stack.

    Args:
        signer: Signs the tokens.
        origins: The origins under which a browser shows the console.
        people: Returns the people that the sign-in page shows.
    """

    def __init__(
        self,
        signer: TokenSigner,
        *,
        origins: Sequence[str],
        people: Callable[[], Sequence[Person]],
    ) -> None:
        self._signer = signer
        self._redirects = frozenset(f"{origin}{CONSOLE_PATH}" for origin in origins)
        self._people = people
        self._grants: dict[str, _Grant] = {}
        self._lock = threading.Lock()
        self._calls: Mapping[tuple[str, str], Callable[[Request], Response]] = {
            ("GET", DISCOVERY): self._discovery,
            ("GET", KEYS): self._keys,
            ("GET", AUTHORIZE): self._choose,
            ("POST", AUTHORIZE): self._chosen,
            ("POST", TOKEN): self._token,
        }

    def answer(self, request: Request) -> Response | None:
        """Handle a request; None if the path does not belong to the issuer."""
        call = self._calls.get((request.method, request.path))
        if call is None:
            return None
        try:
            return call(request)
        except RefusedRequestError as error:
            return json_response(400, {"error": error.code, "error_description": str(error)})

    def _discovery(self, _request: Request) -> Response:
        issuer = self._signer.issuer
        base = issuer.removesuffix("/local")
        return json_response(
            200,
            {
                "issuer": issuer,
                "authorization_endpoint": f"{base}{AUTHORIZE}",
                "token_endpoint": f"{base}{TOKEN}",
                "jwks_uri": f"{base}{KEYS}",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code"],
                "code_challenge_methods_supported": ["S256"],
                "scopes_supported": ["openid", "chat", "support", "privacy", "owner", "admin"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": ["none"],
            },
        )

    def _keys(self, _request: Request) -> Response:
        return json_response(200, {"keys": [self._signer.public_key]})

    def _choose(self, request: Request) -> Response:
        """Return the page on which a person chooses as whom to sign in."""
        asked = _form(request.query)
        self._check(asked)
        people = self._people()
        tenants = list(dict.fromkeys([TENANT, *(person.tenant for person in people)]))
        hint, _, tenant = asked.get("login_hint", "").partition("@")
        if hint == OPERATOR and tenant in tenants:
            return self._redirect(asked, Person(OPERATOR, OPERATOR_NAME, tenant))
        forms = "\n".join(_form_of(tenant, people, asked) for tenant in tenants)
        return Response(200, PAGE_HEADERS, PAGE.format(forms=forms).encode())

    def _chosen(self, request: Request) -> Response:
        """Redirect to the console with a code for the chosen person."""
        asked = _form(request.body.decode(errors="replace"))
        self._check(asked)
        tenant, name = asked.get("tenant", TENANT), asked.get("name", "").strip()
        return self._redirect(asked, self._person(asked.get("user", ""), name, tenant))

    def _redirect(self, asked: Mapping[str, str], person: Person) -> Response:
        """Redirect to the console with a code for a person."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            self._forget_expired()
            self._grants[code] = _Grant(
                person=person,
                scope="chat admin" if person.id == OPERATOR else "chat",
                redirect_uri=asked["redirect_uri"],
                challenge=asked["code_challenge"],
                nonce=asked.get("nonce", ""),
                ends_at=time.monotonic() + CODE_SECONDS,
            )
        query = urlencode({"code": code, "state": asked.get("state", "")})
        location = f"{asked['redirect_uri']}?{query}"
        return Response(303, (("location", location), ("cache-control", "no-store")))

    def _token(self, request: Request) -> Response:
        """Exchange a code for a token. A code works only once."""
        form = _form(request.body.decode(errors="replace"))
        if form.get("grant_type") != "authorization_code":
            raise RefusedRequestError("unsupported_grant_type", "The grant must be a code.")
        with self._lock:
            grant = self._grants.pop(form.get("code", ""), None)
        verifier = form.get("code_verifier", "")
        if (
            grant is None
            or grant.ends_at < time.monotonic()
            or form.get("redirect_uri") != grant.redirect_uri
            or form.get("client_id") != CONSOLE_CLIENT
            or not secrets.compare_digest(challenge_of(verifier), grant.challenge)
        ):
            raise RefusedRequestError("invalid_grant", "The code is unknown, used or expired.")
        person = grant.person
        token = self._signer.token(
            sub=person.id, tenant=person.tenant, scope=grant.scope, name=person.name
        )
        return json_response(
            200,
            {
                "access_token": token,
                "id_token": self._signer.id_token(
                    sub=person.id, name=person.name, client=CONSOLE_CLIENT, nonce=grant.nonce
                ),
                "token_type": "Bearer",
                "expires_in": TOKEN_SECONDS,
                "scope": grant.scope,
            },
            ("cache-control", "no-store"),
        )

    def _check(self, asked: Mapping[str, str]) -> None:
        """Check the parameters of a sign-in.

        Raises:
            RefusedRequestError: The parameters are not those that this stack's console sends.
        """
        if asked.get("client_id") != CONSOLE_CLIENT:
            raise RefusedRequestError("invalid_client", f"The client must be {CONSOLE_CLIENT}.")
        if asked.get("redirect_uri") not in self._redirects:
            raise RefusedRequestError("invalid_request", "The address is not this console's.")
        if asked.get("response_type") != "code":
            raise RefusedRequestError("unsupported_response_type", "The type must be `code`.")
        if not CHALLENGE.fullmatch(asked.get("code_challenge", "")):
            raise RefusedRequestError("invalid_request", "PKCE with S256 is required.")

    def _person(self, user_id: str, name: str, tenant: str) -> Person:
        """Return the chosen person. For a new person, the name is also the id."""
        people = self._people()
        if tenant != TENANT and tenant not in {person.tenant for person in people}:
            raise RefusedRequestError("invalid_request", "There is no such tenant here.")
        if user_id == OPERATOR:
            return Person(OPERATOR, OPERATOR_NAME, tenant)
        known = {person.id: person for person in people if person.tenant == tenant}
        if user_id in known:
            return known[user_id]
        new_id = re.sub(r"[^!-~]+", "-", name.lower())[:128]
        if user_id or not name or len(name) > MAX_NAME or not USER_ID.fullmatch(new_id):
            raise RefusedRequestError("invalid_request", "Choose a person, or write a name.")
        if new_id == OPERATOR:
            raise RefusedRequestError("invalid_request", "This name is the operator's.")
        return known.get(new_id) or Person(new_id, name, tenant)

    def _forget_expired(self) -> None:
        now = time.monotonic()
        alive = {code: grant for code, grant in self._grants.items() if grant.ends_at >= now}
        self._grants = dict(list(alive.items())[-MAX_CODES:])


def _form_of(tenant: str, people: Sequence[Person], asked: Mapping[str, str]) -> str:
    """Return the form with which a person of a tenant signs in."""
    kept = {name: asked.get(name, "") for name in ASKED} | {"tenant": tenant}
    offered = [(OPERATOR, OPERATOR_NAME, "has the scopes chat and admin")]
    offered += [(each.id, each.name, "a person") for each in people if each.tenant == tenant]
    return FORM.format(
        heading=HEADINGS.get(tenant, html.escape(tenant)),
        hidden="\n".join(
            HIDDEN.format(name=name, value=html.escape(value)) for name, value in kept.items()
        ),
        choices="\n".join(
            CHOICE.format(id=html.escape(each), name=html.escape(name), about=about)
            for each, name, about in offered
        ),
        tenant=html.escape(tenant),
        max_name=MAX_NAME,
    )


def challenge_of(verifier: str) -> str:
    """Return PKCE's challenge of a verifier (S256)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _form(text: str) -> dict[str, str]:
    return dict(parse_qsl(text, keep_blank_values=True))
