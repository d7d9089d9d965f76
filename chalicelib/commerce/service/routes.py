"""The operations of commerce payments."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)
_ROOT = "/v2/commerce-payments"
_CALLDATA = "For an operator with a wallet of its own, which sends the transaction. Amounts are in base units."
_EXECUTED = (
    "The service's own account sends the transaction; a call is sent once, however often this is called. The state "
    "changes when the chain has the escrow's event. A client ID that is sent alone needs `mayExecute` and names "
    "neither `amount` nor a fee. Amounts are in base units."
)
_ERRORS = (400, 401, 403, 404, 409, 503)

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
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/authorize", "authorize_commerce_payment",
        "Have a payer's tokens put into the escrow",
        description=(
            "By what the payer allowed or signed; tokens that were pre-approved are also collected without this call, "
            "unless a client ID without `mayExecute` has created the payment alone. The service's own account sends "
            "the transaction, once, however often this is called. A client ID that is sent alone needs `mayExecute`."
        ),
        modes=_CALLERS, scope="requests:write", moves_money=True, executes=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/authorize/calldata", "authorize_commerce_calldata",
        "The transaction that puts a payer's tokens into the escrow",
        description=_CALLDATA, modes=_CALLERS, scope="requests:write", moves_money=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/charge", "charge_commerce_payment",
        "Authorize and capture at once",
        description=_EXECUTED, modes=_CALLERS, scope="requests:write", moves_money=True, executes=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/charge/calldata", "charge_commerce_calldata",
        "The transaction that authorizes and captures at once",
        description=_CALLDATA, modes=_CALLERS, scope="requests:write", moves_money=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/capture", "capture_commerce_payment",
        "Capture a part or all of what is held",
        description=_EXECUTED, modes=_CALLERS, scope="requests:write", moves_money=True, executes=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/capture/calldata", "capture_commerce_calldata",
        "The transaction that captures",
        description=_CALLDATA, modes=_CALLERS, scope="requests:write", moves_money=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/void", "void_commerce_payment",
        "Give all that is held back to the payer",
        description=_EXECUTED, modes=_CALLERS, scope="requests:write", moves_money=True, executes=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/void/calldata", "void_commerce_calldata",
        "The transaction that voids",
        description=_CALLDATA, modes=_CALLERS, scope="requests:write", moves_money=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/refund", "refund_commerce_payment",
        "Give the payer back a part or all of what was captured",
        description=(
            f"{_EXECUTED} The tokens come from the merchant's wallet, which has allowed them to the service's own "
            "account before: `operator` of the status. At most what the merchant received."
        ),
        modes=_CALLERS, scope="requests:write", moves_money=True, executes=True, errors=_ERRORS,
    ),
    Operation(
        "POST", f"{_ROOT}/{{request_id}}/refund/calldata", "refund_commerce_calldata",
        "The transactions that refund",
        description=(
            f"{_CALLDATA} The tokens come from the operator's wallet: `transactions` approve them first."
        ),
        modes=_CALLERS, scope="requests:write", moves_money=True, errors=_ERRORS,
    ),
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
