"""Requests to services that operators name: limits, and addresses that are never reached."""

import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from skein.adapters.outbound_http import OutboundHttpClient, is_public
from skein.errors import Ambiguous, Failed, Redirected, SkeinError, Unavailable
from skein.models.common.http import HttpAnswer, HttpRequest


class Handler(BaseHTTPRequestHandler):
    """Paths that answer well, redirect, answer too much, or not at all."""

    released = Event()

    def do_GET(self) -> None:
        path = self.path
        if path == "/slow":
            self.released.wait(5)
        status, headers, body = 200, {"content-type": "application/json"}, b'{"ok": true}'
        if path.startswith("/to/"):
            status, headers, body = 302, {"location": path.removeprefix("/to")}, b""
        if path == "/loop":
            status, headers = 302, {"location": "/loop"}
        if path == "/away":
            status, headers = 302, {"location": "http://169.254.169.254/latest"}
        if path == "/large":
            body = b"x" * 1_000_001
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        shown = {"body": body.decode(), "key": self.headers["Idempotency-Key"]}
        answer = json.dumps(shown).encode()
        redirects = {"/to/other": 307, "/see/other": 303}
        self.send_response(redirects.get(self.path, 201))
        if self.path in redirects:
            self.send_header("location", "/other")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:  # quiet
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        Handler.released.set()
        server.shutdown()


@pytest.fixture
def https_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve `shop.example` on this machine, with a certificate that the client trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("shop.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    file = tmp_path / "shop.pem"
    file.write_bytes(
        certificate.public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


LOCAL = OutboundHttpClient(loopback=True)
DEPLOYED = OutboundHttpClient()


def get(url: str, method: str = "GET", body: bytes = b"") -> HttpRequest:
    headers = {"Idempotency-Key": "k"}
    return HttpRequest(method=method, url=url, headers=headers, body=body)


@pytest.mark.parametrize("path", ["/", "/to/to/to/last"])
def test_answer_comes_back_also_after_three_redirects(url: str, path: str) -> None:
    answer = LOCAL.send(get(url + path), seconds=5)
    assert (answer.status, answer.content_type) == (200, "application/json")
    assert answer.body == b'{"ok": true}'


@pytest.mark.parametrize("path", ["/", "/to/other"])
def test_body_and_headers_arrive_also_after_a_redirect_that_keeps_the_method(
    url: str, path: str
) -> None:
    answer = LOCAL.send(get(url + path, "POST", b'{"a": 1}'), seconds=5)
    assert json.loads(answer.body) == {"body": '{"a": 1}', "key": "k"}


@pytest.mark.parametrize(
    ("path", "error"),
    [("/loop", Redirected), ("/away", Redirected), ("/large", Ambiguous), ("/slow", Ambiguous)],
)
def test_outbound_request_beyond_a_limit_raises_its_error(
    url: str, path: str, error: type[SkeinError]
) -> None:
    with pytest.raises(error):
        LOCAL.send(get(url + path), seconds=0.3 if path == "/slow" else 5)


def test_post_whose_redirect_is_not_followed_may_have_been_done(url: str) -> None:
    """A service may do a POST, and redirect to the page that shows what it did."""

    class Gone(OutboundHttpClient):
        """The service is out of reach after its first answer."""

        def exchange(self, request: HttpRequest, until: float) -> tuple[HttpAnswer, str | None]:
            if not request.url.endswith("/to/other"):
                raise Unavailable("gone")
            return OutboundHttpClient.exchange(self, request, until)

    with pytest.raises(Redirected):
        LOCAL.send(get(url + "/see/other", "POST", b"{}"), seconds=5)
    with pytest.raises(Redirected):
        Gone(loopback=True).send(get(url + "/to/other", "POST", b"{}"), seconds=5)


def test_deployed_client_reaches_no_loopback(url: str) -> None:
    with pytest.raises(Failed, match="not public"):
        DEPLOYED.send(get(url + "/"), seconds=5)


def test_host_must_have_the_certificate_of_its_name(https_port: int) -> None:
    here = replace(LOCAL, resolve=lambda host, port: ["127.0.0.1"])
    answer = here.send(get(f"https://shop.example:{https_port}/"), seconds=5)
    assert answer.body == b'{"ok": true}'
    with pytest.raises(Unavailable, match="SSLCertVerificationError"):
        here.send(get(f"https://other.example:{https_port}/"), seconds=5)


def test_closed_port_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        LOCAL.send(get("http://127.0.0.1:9/"), seconds=5)


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.5.4", "192.168.1.1", "100.64.0.1", "169.254.169.254", "127.0.0.1"),
        *("0.0.0.0", "224.0.0.1", "::1", "fe80::1", "fd00:ec2::254", "::ffff:10.0.0.1"),
        *("64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
        *("::169.254.169.254", "::ffff:0:169.254.169.254", "64:ff9b:1::a9fe:a9fe", "5f00::1"),
        *("192.0.0.192", "192.88.99.1", "240.0.0.1", "255.255.255.255", "::ffff:93.184.215.14"),
        *("2002:5db8:d70e::1", "2001:db8::1", "3fff::1", "fec0::1", "ff0e::1", "100::1", "4000::1"),
    ],
)
def test_private_addresses_are_never_called(address: str) -> None:
    assert not is_public(ip_address(address))
    client = replace(DEPLOYED, resolve=lambda host, port: ["93.184.215.14", address])
    with pytest.raises(Failed, match="not public"):
        client.send(get("https://shop.example/"), seconds=5)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_public_addresses_may_be_called(address: str) -> None:
    assert is_public(ip_address(address))


def test_hosts_and_plain_http_can_be_refused() -> None:
    public = replace(DEPLOYED, resolve=lambda host, port: ["93.184.215.14"])
    with pytest.raises(Failed, match="https"):
        public.send(get("http://shop.example/"), seconds=5)
    with pytest.raises(Failed, match="does not allow"):
        replace(public, hosts=("api.example",)).send(get("https://shop.example/"), seconds=5)
