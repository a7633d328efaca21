"""Who may call the routes under `/local`."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.config import BadConfigError, Config
from local.errors import PortInUseError
from local.events import Request, Response, json_response
from local.greeting import greeting, network_lines
from local.stack import Stack
from local.web.access import LocalAccess, refused
from local.web.server import Server, addresses

PORT = 8787
OTHER_MACHINE = "127.0.0.2"  # stands for another machine: /local answers 127.0.0.1 and ::1 alone


def _request(peer: str = "127.0.0.1", **headers: str) -> Request:
    given = {"host": f"127.0.0.1:{PORT}"} | {n.replace("_", "-"): v for n, v in headers.items()}
    return Request("GET", "/local/config", headers=given, source_ip=peer)


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_access_from_this_machine_is_allowed(peer: str, name: str) -> None:
    host = f"{name}:{PORT}"
    access = LocalAccess(PORT)
    assert access.allows(_request(peer, host=host))
    assert access.allows(_request(peer, host=host, origin=f"http://{host}"))


@pytest.mark.parametrize("peer", [OTHER_MACHINE, "192.168.1.20", "::2", "::ffff:192.168.1.20", ""])
def test_access_from_another_machine_is_refused(peer: str) -> None:
    assert not LocalAccess(PORT).allows(_request(peer))


@pytest.mark.parametrize("header", ["x_forwarded_for", "forwarded", "x_real_ip"])
def test_access_with_a_forwarding_header_follows_the_connection(header: str) -> None:
    access = LocalAccess(PORT)
    assert not access.allows(_request(OTHER_MACHINE, **{header: "127.0.0.1"}))
    assert access.allows(_request(**{header: OTHER_MACHINE}))


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1:{PORT}0",
        f"127.0.0.2:{PORT}",
        f"attacker.example:{PORT}",
        f"localhost.attacker.example:{PORT}",
        f"x@127.0.0.1:{PORT}",
        f"127.0.0.1:{PORT},attacker.example",
    ],
)
def test_access_with_another_host_is_refused(host: str) -> None:
    assert not LocalAccess(PORT).allows(_request(host=host))


def test_access_without_host_is_refused() -> None:
    assert not LocalAccess(PORT).allows(Request("GET", "/local/config"))


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://example.com",
        "http://127.0.0.1",
        f"https://127.0.0.1:{PORT}",
        "http://127.0.0.1:3000",
        f"http://localhost:{PORT}",
        f"http://127.0.0.1:{PORT}/",
    ],
)
def test_access_with_another_origin_is_refused(origin: str) -> None:
    assert not LocalAccess(PORT).allows(_request(origin=origin))


def test_access_on_port_80_needs_no_port_in_the_headers() -> None:
    access = LocalAccess(80)
    assert access.allows(_request(host="localhost", origin="http://localhost"))
    assert access.allows(_request(host="localhost:80"))


def test_refusal_is_403_with_one_sentence() -> None:
    response = refused()
    error = json.loads(response.body)
    assert (response.status, error["code"]) == (403, "forbidden")
    assert error["detail"].count(".") == 1


# ---------------------------------------------------------------------- addresses


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that other machines reach; its responses hold the peer's address."""

    def peer(request: Request) -> Response:
        return json_response(200, request.source_ip)

    try:
        server = Server(0, peer, host=OTHER_MACHINE)
    except BadConfigError:
        pytest.skip(f"this machine has no address {OTHER_MACHINE}")
    server.start()
    yield server
    server.stop()


def _peer(server: Server, address: str, source: str) -> str:
    connection = http.client.HTTPConnection(
        address, server.port, timeout=5, source_address=(source, 0)
    )
    connection.request("GET", "/", headers={"X-Forwarded-For": "10.0.0.1"})
    answer: str = json.loads(connection.getresponse().read())
    connection.close()
    return answer


@pytest.mark.allow_hosts(["127.0.0.1", OTHER_MACHINE])
def test_server_on_another_address_answers_there_and_on_loopback(server: Server) -> None:
    assert _peer(server, OTHER_MACHINE, OTHER_MACHINE) == OTHER_MACHINE
    assert _peer(server, "127.0.0.1", "127.0.0.1") == "127.0.0.1"


def test_server_on_a_taken_port_is_refused_on_each_address(server: Server) -> None:
    for host in ("127.0.0.1", OTHER_MACHINE):
        with pytest.raises(PortInUseError, match=f"port {server.port} is in use"):
            Server(server.port, lambda _: json_response(200, {}), host=host)


@pytest.mark.parametrize(
    ("host", "listening"),
    [
        ("127.0.0.1", ("127.0.0.1",)),
        ("0.0.0.0", ("0.0.0.0",)),
        ("::", ("0.0.0.0", "::")),
        ("::1", ("127.0.0.1", "::1")),
        ("192.168.1.5", ("127.0.0.1", "192.168.1.5")),
    ],
)
def test_addresses_of_a_host_always_include_loopback(host: str, listening: tuple[str, ...]) -> None:
    assert addresses(host) == listening


def test_server_on_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(BadConfigError, match=r"SKEIN_HOST is '192\.0\.2\.1'"):
        Server(0, lambda _: json_response(200, {}), host="192.0.2.1")


@pytest.mark.parametrize(
    ("value", "host"),
    [
        ("", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("127.0.0.2", "127.0.0.2"),
        ("0.0.0.0", "0.0.0.0"),
        ("0:0:0:0:0:0:0:1", "::1"),
    ],
)
def test_config_with_an_address_has_the_host(value: str, host: str) -> None:
    assert Config.from_environment({"SKEIN_HOST": value}).host == host


@pytest.mark.parametrize(
    "value",
    ["everywhere", "192.168.1", "192.168.1.5:8787", "http://0.0.0.0", "224.0.0.1", "*", " "],
)
def test_config_without_an_address_is_refused(value: str) -> None:
    with pytest.raises(BadConfigError, match=r"SKEIN_HOST is .*, which is not an IP address"):
        Config.from_environment({"SKEIN_HOST": value})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1"])
def test_greeting_on_loopback_names_no_other_machine(host: str) -> None:
    assert network_lines(host, PORT) == ""


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("192.168.1.5", "http://192.168.1.5:8787"),
        ("fd00::5", "http://[fd00::5]:8787"),
        ("0.0.0.0", "http://<address of this machine>:8787"),
        ("::", "http://<address of this machine>:8787"),
    ],
)
def test_greeting_on_the_network_names_the_address_for_other_machines(host: str, url: str) -> None:
    lines = network_lines(host, PORT)
    assert f"the API at {url}, with a token" in lines
    assert "POST /local/token" in lines


def test_last_line_of_the_greeting_is_the_address_of_the_phone(tmp_path: Path) -> None:
    stack = Stack(Config(data_dir=tmp_path))
    stack.url = f"http://127.0.0.1:{PORT}"
    assert greeting(stack).splitlines()[-1].strip() == f"{stack.url}/console/#/phone"
