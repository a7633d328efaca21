"""Start of the emulator with all invocations of functions sent to one URL.

`python forwarding.py <URL> [type ...]` runs in the emulator's own environment. The emulator
forwards functions whose names it knows at its start, and CloudFormation chooses the names later.
Resources of the named types are accepted without effect.
"""

import runpy
import sys
from collections.abc import Callable
from typing import Any

from ministack.core import lambda_runtime
from ministack.services import lambda_svc
from ministack.services.cloudformation import provisioners


def accept(kind: str) -> None:
    """Accept resources of a type without effect."""

    def arn(name: str) -> dict[str, str]:
        return {"Arn": f"arn:aws:cloudwatch:us-east-1:000000000000:alarm:{name}"}

    provisioners._RESOURCE_HANDLERS[kind] = {
        "create": lambda logical_id, props, stack_name: (
            f"{stack_name}-{logical_id}",
            arn(f"{stack_name}-{logical_id}"),
        ),
        "update": lambda physical_id, old_props, new_props, stack_name: (
            physical_id,
            arn(physical_id),
        ),
        "delete": lambda physical_id, props: None,
    }


def with_numbers(limit: Callable[..., int]) -> Callable[..., int]:
    """Return the emulator's limit of a queue's batches, for a number that is a parameter's text."""

    def limited(esm: dict[str, Any], *rest: Any, **named: Any) -> int:
        scaling = dict(esm.get("ScalingConfig") or {})
        if "MaximumConcurrency" in scaling:
            scaling["MaximumConcurrency"] = int(scaling["MaximumConcurrency"])
        return limit({**esm, "ScalingConfig": scaling}, *rest, **named)

    return limited


class Forwarder:
    """A worker of the WebSocket gateway that sends invocations to the URL, too.

    Args:
        config: The configuration of the function.
        url: The URL.
    """

    def __init__(self, config: dict[str, Any], url: str) -> None:
        self._config, self._url = config, url

    def invoke(self, event: dict[str, Any], request_id: str) -> dict[str, Any]:
        """Invoke the function; return the result in a worker's form."""
        done = lambda_svc._execute_function_proxy(
            {"config": self._config}, event, self._url, request_id
        )
        if done.get("error"):
            return {"status": "error", "error": str(done["body"])}
        return {"status": "ok", "result": done.get("body")}


def main(url: str, *kinds: str) -> None:
    """Run the emulator until it is stopped."""
    for kind in kinds:
        accept(kind)
    if not callable(getattr(lambda_svc, "_proxy_url_for", None)):
        sys.exit("this release of ministack forwards invocations in another way")
    lambda_svc._proxy_url_for = lambda config: url
    lambda_runtime.get_or_create_worker = lambda name, config, code, **rest: Forwarder(config, url)
    lambda_svc._sqs_esm_concurrency = with_numbers(lambda_svc._sqs_esm_concurrency)
    sys.argv[1:] = []
    runpy.run_module("ministack", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
