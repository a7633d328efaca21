"""pytest plugin: each answer of an AWS client in a test has the shape that AWS describes.

The SDK checks the parameters of each call, but not the answers, which in tests come from emulators.
Clients that tests write themselves (`checked`) are held to both. So no stand-in accepts or returns
what AWS does not.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, cast

import botocore.client
import botocore.session
from botocore import xform_name
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.validate import ParamValidator

# Of a new table: AWS answers with 0 against its own description, and emulators where AWS does not.
# Nothing reads either.
WRONGLY_DESCRIBED = ("NumberOfDecreasesToday", "WarmThroughput")


_unchecked = ContextVar("unchecked", default=False)


@contextmanager
def unchecked() -> Iterator[None]:
    """Let stand-ins in the block return what AWS would not."""
    before = _unchecked.set(True)
    try:
        yield
    finally:
        _unchecked.reset(before)


class WrongShapeError(AssertionError):
    """A call or an answer is not as AWS describes it."""


def check(shape: Shape | None, value: Mapping[str, Any], what: str) -> None:
    """Compare the parameters of a call, or an answer, with AWS's description.

    Raises:
        WrongShapeError: They differ.
    """
    members: Mapping[str, Any] = getattr(shape, "members", {})
    stream = shape.serialization.get("payload") if shape is not None else None
    body = {k: v for k, v in value.items() if k not in {"ResponseMetadata", stream}}
    if unknown := body.keys() - members.keys():
        raise WrongShapeError(f"{what} has no {', '.join(sorted(unknown))}")
    if shape is None:
        return
    report = ParamValidator().validate(body, shape).generate_report().splitlines()
    accepted = (*WRONGLY_DESCRIBED, *([f'"{stream}"'] if stream else ()))
    if wrong := [line for line in report if not any(name in line for name in accepted)]:
        raise WrongShapeError(f"{what}: {'; '.join(wrong)}")


def pytest_configure() -> None:
    """Check the answers of every client that the SDK makes."""
    base: Any = botocore.client.BaseClient
    make_call = base._make_api_call

    def checked_call(self: Any, operation: str, parameters: Mapping[str, Any]) -> Any:
        answer = make_call(self, operation, parameters)
        if _unchecked.get():
            return answer
        model = self.meta.service_model.operation_model(operation)
        check(model.output_shape, answer, f"the answer of {operation}")
        return answer

    base._make_api_call = checked_call


@cache
def _operations(service: str) -> Mapping[str, OperationModel]:
    model: ServiceModel = botocore.session.get_session().get_service_model(service)
    return {xform_name(name): model.operation_model(name) for name in model.operation_names}


class _Checked:
    def __init__(self, service: str, client: object) -> None:
        self._operations, self._client = _operations(service), client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = self._operations[name]

        def call(**parameters: Any) -> Any:
            check(operation.input_shape, parameters, f"the call {operation.name}")
            answer = getattr(self._client, name)(**parameters)
            check(operation.output_shape, answer, f"the answer of {operation.name}")
            return answer

        return call


def checked(service: str, client: object) -> Any:
    """Return a stand-in whose calls and answers are compared with AWS's description.

    Args:
        service: The SDK's name of the service.
        client: Has a method for each operation that the test needs.
    """
    return cast("Any", _Checked(service, client))
