"""The operations of commerce payments."""

from chalicelib.commerce.service.operation_table import TABLE
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)
_ROOT = "/v2/commerce-payments"
_READ, _WRITE = "requests:read", "requests:write"


def _routes(kind: str) -> tuple[Operation, Operation]:
    """Where an operation is asked for: of the service's own account, and as what the operator sends."""
    path, name = f"{_ROOT}/{{request_id}}/{kind}", f"{kind}_commerce"
    return (
        Operation("POST", path, f"{name}_payment", _CALLERS, scope=_WRITE, moves_money=True, executes=True),
        Operation("POST", f"{path}/calldata", f"{name}_calldata", _CALLERS, scope=_WRITE, moves_money=True),
    )


ROUTES = {
    "service.api": (
        Operation(
            "POST", f"{_ROOT}/authorize/calldata", "create_commerce_payment", (Mode.ORCHESTRATOR, *_CALLERS),
            scope=_WRITE, status=201, moves_money=True,
        ),
        *(route for each in TABLE for route in _routes(each.kind)),
        Operation(
            "POST", f"{_ROOT}/{{request_id}}/reclaim/calldata", "reclaim_commerce_calldata", _CALLERS, scope=_READ,
        ),
        Operation("GET", f"{_ROOT}/{{request_id}}/status", "get_commerce_status", _CALLERS, scope=_READ),
    ),
}
