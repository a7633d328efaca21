"""What a deployment meets outside AWS, on loopback: an issuer of tokens, Twilio, and TLS."""

import contextlib
import json
import ssl
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

LOOPBACK = "127.0.0.1"
KEY_BITS = 2048
KEY_ID = "rehearsal"
TOKEN_SECONDS = 3600
DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/.well-known/jwks.json"


class Server(ThreadingHTTPServer):
    """An HTTP server on loopback in a thread, which reports no requests."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__((LOOPBACK, 0), handler)

    @contextlib.contextmanager
    def running(self) -> Iterator[int]:
        """Serve within the `with` block; yields the port."""
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield int(self.server_address[1])
        finally:
            self.shutdown()
            self.server_close()


class Handler(BaseHTTPRequestHandler):
    """Handler of requests with JSON answers."""

    protocol_version = "HTTP/1.1"

    def reply(self, status: int, body: object) -> None:
        """Send a JSON body."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self) -> bytes:
        """Read the body."""
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Report nothing."""


class Certificate:
    """A self-signed certificate of this machine's loopback address.

    Args:
        folder: Where its files are written.
    """

    def __init__(self, folder: Path) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rehearsal")])
        now = datetime.now(UTC)
        loopback = x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))])
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(loopback, critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.file = folder / "certificate.pem"
        self.key_file = folder / "certificate-key.pem"
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        self.key_file.write_bytes(_pem(key))

    def context(self) -> ssl.SSLContext:
        """Return the settings of a server with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key_file)
        return context


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


class Issuer:
    """An issuer of tokens with a discovery document, over HTTPS.

    Args:
        certificate: The certificate of its server.
        audience: The `aud` of every token.
    """

    def __init__(self, certificate: Certificate, audience: str) -> None:
        self.audience = audience
        self.url = ""
        self._certificate = certificate
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)

    @contextlib.contextmanager
    def running(self) -> Iterator["Issuer"]:
        """Serve within the `with` block."""
        issuer = self

        class Answers(Handler):
            def do_GET(self) -> None:
                found = issuer.documents().get(self.path)
                self.reply(404 if found is None else 200, found or {})

        server = Server(Answers)
        server.socket = self._certificate.context().wrap_socket(server.socket, server_side=True)
        with server.running() as port:
            self.url = f"https://{LOOPBACK}:{port}"
            yield self

    def documents(self) -> dict[str, Any]:
        """Return the published documents by path."""
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        return {
            DISCOVERY: {"issuer": self.url, "jwks_uri": f"{self.url}{KEYS}"},
            KEYS: {"keys": [public | {"kid": KEY_ID, "alg": "RS256", "use": "sig"}]},
        }

    def token(self, *, sub: str, tenant: str, scope: str) -> str:
        """Create a token, valid for an hour."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": self.audience,
            "iat": now,
            "exp": now + TOKEN_SECONDS,
            "jti": uuid.uuid4().hex,
            "sub": sub,
            "tenant": tenant,
            "scope": scope,
        }
        return jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": KEY_ID})


class Twilio:
    """Twilio's REST API for messages: it takes every SMS and sends none."""

    def __init__(self) -> None:
        self.sent: list[dict[str, str]] = []
        self.url = ""

    @contextlib.contextmanager
    def running(self) -> Iterator["Twilio"]:
        """Serve within the `with` block."""
        twilio = self

        class Answers(Handler):
            def do_POST(self) -> None:
                sms = dict(parse_qsl(self.body().decode()))
                sid = f"SM{uuid.uuid4().hex}"
                twilio.sent.append(sms)
                fields = {"sid": sid, "status": "queued", "error_code": None, "body": sms["Body"]}
                self.reply(201, fields | {"to": sms["To"], "from": sms.get("From")})

            def do_GET(self) -> None:
                self.reply(200, {"messages": []})

        with Server(Answers).running() as port:
            self.url = f"http://{LOOPBACK}:{port}"
            yield self


# Answers by a schema that say that there is nothing new, by a field of the schema.
BY_SCHEMA = {
    "journal": {"journal": [], "core": []},
    "promote": {"promote": []},
    "title": {"title": ""},
    "lines": {"lines": ["All is quiet.", "Nothing is open."], "summary": "They have spoken."},
}


class Model:
    """A model provider in OpenAI's form that always says the same.

    Args:
        answer: The text of every answer without a schema.
    """

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.base_url = ""

    @contextlib.contextmanager
    def running(self) -> Iterator["Model"]:
        """Serve within the `with` block."""
        model = self

        class Answers(Handler):
            def do_POST(self) -> None:
                asked = json.loads(self.body())
                if asked.get("stream"):
                    self.stream(model.completion(asked))
                else:
                    self.reply(200, model.completion(asked))

            def do_GET(self) -> None:
                self.reply(200, {"object": "list", "data": []})

            def stream(self, completion: dict[str, Any]) -> None:
                """Send a completion as server-sent events in two chunks."""
                [choice] = completion.pop("choices")
                usage = completion.pop("usage")
                delta = {"index": 0, "delta": choice["message"], "finish_reason": None}
                end = {"index": 0, "delta": {}, "finish_reason": "stop"}
                common = completion | {"object": "chat.completion.chunk"}
                chunks = [common | {"choices": [each]} for each in (delta, end)]
                chunks.append(common | {"choices": [], "usage": usage})
                events = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
                data = "".join(f"data: {event}\n\n" for event in events).encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        with Server(Answers).running() as port:
            self.base_url = f"http://{LOOPBACK}:{port}/v1"
            yield self

    def completion(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the completion for a request."""
        schema = str(asked.get("response_format", ""))
        said = next((json.dumps(BY_SCHEMA[name]) for name in BY_SCHEMA if name in schema), None)
        message = {"role": "assistant", "content": said or self.answer}
        return {
            "id": "chatcmpl-rehearsal",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
