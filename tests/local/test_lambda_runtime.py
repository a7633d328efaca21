"""The Runtime API of the checks under AWS's runtime client, over HTTP."""

import itertools
import json
import urllib.request

from tools.lambda_runtime import RuntimeApi, Seconds


def _call(address: str, path: str, body: object = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"http://{address}/2018-06-01/runtime/{path}", data) as response:
        answer: bytes = response.read()
    return answer


def test_events_are_handed_over_one_after_the_other_and_timed() -> None:
    clock = itertools.count()
    api = RuntimeApi(
        [lambda: {"n": 1}, lambda: {"n": 2}], 5, lambda: Seconds(float(next(clock)), 0.5)
    )
    with api.serving() as address:
        for n in (1, 2):
            assert json.loads(_call(address, "invocation/next")) == {"n": n}
            _call(address, "invocation/id/response", {"answer": n})
    assert api.answers == [{"answer": 1}, {"answer": 2}]
    assert api.asked_at == [Seconds(0, 0.5), Seconds(3, 0.5)]
    assert api.took() == [Seconds(1, 0)] * 2
    assert api.ended.wait(5)


def test_error_ends_the_check() -> None:
    api = RuntimeApi([dict, dict], 5, lambda: Seconds(0, 0))
    with api.serving() as address:
        _call(address, "invocation/next")
        _call(address, "invocation/id/error", {"errorMessage": "no table"})
        assert api.ended.wait(5)
    assert "no table" in api.error
    assert api.answers == []


def test_start_from_a_snapshot_asks_for_its_restore_before_the_first_event() -> None:
    api = RuntimeApi([dict], 5, lambda: Seconds(0, 0))
    with api.serving() as address:
        assert json.loads(_call(address, "restore/next")) == {}
        assert (api.restored, api.asked_at) == (True, [])
        assert json.loads(_call(address, "invocation/next")) == {}
