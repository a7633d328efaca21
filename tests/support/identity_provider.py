"""An OpenID Connect provider on loopback, by Authlib: code flow with PKCE for a public client."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import flask
import jwt
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oidc.core import AuthorizationCodeMixin, OpenIDCode, UserInfo
from joserfc.jwk import KeySet, RSAKey
from werkzeug.serving import make_server

CLIENT = "console-of-skein"
AUDIENCE = "https://api.example"
PERSON = "maria"
SECONDS = 3600
ALGORITHM = "RS256"
KEY_BITS = 2048
PAGE = f"""<!doctype html><html lang="en"><title>Provider</title><form method="post">
<button name="user" value="{PERSON}">Continue as Maria</button>
<button name="user" value="">Cancel</button></form></html>"""


def new_keys() -> KeySet:
    """Create a key set with one key."""
    return KeySet([RSAKey.generate_key(KEY_BITS, {"kid": uuid4().hex, "use": "sig"})])


@dataclass
class Provider:
    """A running provider.

    Attributes:
        url: Its issuer.
        redirect_uri: The one address to which it sends people back.
        claims: What access tokens hold besides the standard claims.
        allowed: The scopes that it grants.
        codes: The codes that were not used yet.
        keys: The signing keys; new tokens are signed with the first.
    """

    url: str
    redirect_uri: str = ""
    claims: dict[str, object] = field(default_factory=lambda: {"name": "Maria"})
    allowed: str = "openid chat admin"
    codes: dict[str, "Code"] = field(default_factory=dict)
    keys: KeySet = field(default_factory=new_keys)

    def token(self, **changes: object) -> str:
        """Sign an access token; a change to None leaves a claim out."""
        now = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": PERSON, "scope": "chat", "iat": now}
        claims = {**usual, "exp": now + SECONDS, **changes}
        given = {name: value for name, value in claims.items() if value is not None}
        key = self.keys.keys[0]
        assert isinstance(key, RSAKey)
        assert key.private_key is not None
        return jwt.encode(given, key.private_key, ALGORITHM, headers={"kid": key.kid})


@dataclass(frozen=True)
class Client(ClientMixin):
    """The public client."""

    provider: Provider

    def get_client_id(self) -> str:
        return CLIENT

    def get_default_redirect_uri(self) -> str:
        return self.provider.redirect_uri

    def get_allowed_scope(self, scope: str) -> str:
        return " ".join(each for each in scope.split() if each in self.provider.allowed.split())

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self.provider.redirect_uri

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


@dataclass(frozen=True)
class User:
    """The person who signs in."""

    def get_user_id(self) -> str:
        return PERSON


@dataclass(frozen=True)
class Code(AuthorizationCodeMixin):
    """A code that was not used yet."""

    redirect_uri: str
    scope: str
    nonce: str
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str:
        return self.nonce

    def get_auth_time(self) -> int:
        return int(time.time())


def grant_of(provider: Provider) -> type[AuthorizationCodeGrant]:
    """Create the grant by which a provider exchanges codes."""

    class Grant(AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

        def save_authorization_code(self, code: str, request: Any) -> None:
            data = request.payload.data
            provider.codes[code] = Code(
                redirect_uri=request.payload.redirect_uri,
                scope=request.client.get_allowed_scope(request.scope),
                nonce=data.get("nonce", ""),
                code_challenge=data["code_challenge"],
                code_challenge_method=data["code_challenge_method"],
            )

        def query_authorization_code(self, code: str, _client: Client) -> Code | None:
            return provider.codes.get(code)

        def delete_authorization_code(self, code: Code) -> None:
            provider.codes = {name: each for name, each in provider.codes.items() if each != code}

        def authenticate_user(self, _code: Code) -> User:
            return User()

    return Grant


@dataclass
class IdTokens(OpenIDCode):
    """The ID tokens of a provider."""

    provider: Provider
    require_nonce: bool = True

    def exists_nonce(self, _nonce: str, _request: Any) -> bool:
        return False

    def resolve_client_private_key(self, _client: Client) -> Any:
        return self.provider.keys

    def get_client_claims(self, _client: Client) -> dict[str, Any]:
        return {"iss": self.provider.url}

    def generate_user_info(self, user: User, _scope: str) -> UserInfo:
        return UserInfo(sub=user.get_user_id(), name="Maria")


class AccessTokens(JWTBearerTokenGenerator):
    """The access tokens of a provider: JWT of RFC 9068."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(issuer=provider.url, alg=ALGORITHM)
        self._provider = provider

    def get_jwks(self) -> KeySet:
        return self._provider.keys

    def get_audiences(self, _client: Client, _user: User, _scope: str) -> list[str]:
        return [AUDIENCE]

    def get_extra_claims(self, *_about: object) -> dict[str, object]:
        return self._provider.claims


def app_of(provider: Provider) -> flask.Flask:
    """Create the web application of a provider."""
    app = flask.Flask("provider")
    server = AuthorizationServer(
        app,
        query_client=lambda name: Client(provider) if name == CLIENT else None,
        save_token=lambda _token, _request: None,
    )
    server.register_token_generator("default", AccessTokens(provider))
    server.register_grant(grant_of(provider), [CodeChallenge(required=True), IdTokens(provider)])

    @app.get("/.well-known/openid-configuration")
    def discovery() -> dict[str, object]:
        return {
            "issuer": provider.url,
            "authorization_endpoint": f"{provider.url}/authorize",
            "token_endpoint": f"{provider.url}/token",
            "jwks_uri": f"{provider.url}/keys",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }

    @app.get("/keys")
    def keys() -> Any:
        return provider.keys.as_dict(private=False)

    @app.route("/authorize", methods=["GET", "POST"])
    def authorize() -> Any:
        grant = server.get_consent_grant(end_user=User())
        if flask.request.method == "GET":
            return PAGE
        user = User() if flask.request.form["user"] else None
        return server.create_authorization_response(grant_user=user, grant=grant)

    @app.post("/token")
    def token() -> Any:
        return server.create_token_response()

    @app.after_request
    def allow_other_origins(response: flask.Response) -> flask.Response:
        response.headers["access-control-allow-origin"] = "*"
        return response

    return app


@contextmanager
def running_provider() -> Iterator[Provider]:
    """Start a provider on a free port of this machine."""
    provider = Provider(url="")
    server = make_server("127.0.0.1", 0, flask.Flask("starting"), threaded=True)
    provider.url = f"http://127.0.0.1:{server.port}"
    server.app = app_of(provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
