"""The operations of commerce payments."""

from chalicelib.commerce.service.operations import TABLE, Described
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_ROOT = "/v2/commerce-payments"
_ERRORS = (400, 401, 403, 404, 409, 503)


def _routes(each: Described) -> tuple[Operation, Operation]:
    """Where an operation is asked for: of the service's own account, and as what the operator sends."""
    name = each.kind
    return (
        Operation(
            "POST", f"{_ROOT}/{{request_id}}/{name}", f"{name}_commerce_payment", each.summary,
            description=each.description,
            modes=_CALLERS, scope="requests:write", moves_money=True, executes=True, errors=_ERRORS,
        ),
        Operation(
            "POST", f"{_ROOT}/{{request_id}}/{name}/calldata", f"{name}_commerce_calldata", each.calldata_summary,
            description=each.calldata_description,
            modes=_CALLERS, scope="requests:write", moves_money=True, errors=_ERRORS,
        ),
    )


OPERATIONS = (
    Operation(
        "POST", f"{_ROOT}/authorize/calldata", "create_commerce_payment",
        "Create a commerce payment, and get what its payer signs",
        description=(
            "The payer's tokens go into an escrow on base or sepolia, from which the operator captures them for the "
            "merchant, or voids. Amounts are in base units. The payer sends `transactions` in their order, or signs "
            "one of `signatures`. Without `buyerAddress` any wallet may pay: on the payment page, or by `/pay` of the "
            "link with its `wallet`. The operator is the wallet of the client ID, else the service's own account."
        ),
        modes=(Mode.ORCHESTRATOR, *_CALLERS), scope="requests:write", moves_money=True,
        status=201, errors=(400, 401, 403, 503),
    ),
    *(route for each in TABLE for route in _routes(each)),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/reclaim/calldata", "reclaim_commerce_calldata",
        "The transaction with which the payer takes back what is held",
        description=(
            "For the payer's wallet, once the authorization has expired. Payers themselves get it by "
            "`/v2/secure-payments/{token}/reclaim` of the link."
        ),
        modes=_CALLERS, scope="requests:read", errors=_ERRORS,
    ),
    Operation(
        "GET", f"{_ROOT}/{{request_id}}/status", "get_commerce_status",
        "The state of a commerce payment, with its sums and events",
        description="As the escrow's confirmed events say. Amounts are in base units.",
        modes=_CALLERS, scope="requests:read", errors=(401, 403, 404),
    ),
)
