"""Routes of the caller's devices, on which the app shows notifications."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.audited import Unaudited
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.live.api import DevicePage, DeviceResource, NewDevice
from skein.live.devices import Devices
from skein.models.common.base import EntityId
from skein.services.directory.users import Users
from skein.services.quotas.rate_limits import RateLimiter

router = ApiRouter("me", "user")

DeviceId = Annotated[EntityId, Path(description="The id of a device.")]


@router.put("/v1/me/devices", "Register a device of the caller for notifications", 409)
def register_device(new: NewDevice) -> DeviceResource:
    """An app calls this at each start. A known token keeps its device, and moves it to the caller.

    The status is 422 if the deployment sends no notifications to this platform. A caller has at
    most 20 devices; a new one replaces the one that was registered first.
    """
    caller = router.caller
    service(RateLimiter).admit_change(caller.tenant, caller.user_id)
    service(Users).recorded(caller.tenant, caller.person)
    device = service(Devices).register(caller.tenant, caller.user_id, new.platform, new.token)
    return DeviceResource.of(device)


@router.get(
    "/v1/me/devices",
    "List the caller's devices",
    audit=Unaudited("the caller reads their own data"),
)
def list_devices() -> DevicePage:
    """A caller has at most 20 devices."""
    caller = router.caller
    items = tuple(map(DeviceResource.of, service(Devices).list(caller.tenant, caller.user_id)))
    return DevicePage(items=items, next_cursor=None)


@router.delete("/v1/me/devices/<device_id>", "Remove a device of the caller")
def remove_device(device_id: DeviceId) -> Response[None]:
    """An app calls this when its user signs out. The device gets no more notifications."""
    caller = router.caller
    service(Devices).remove(caller.tenant, caller.user_id, device_id)
    return no_content()
