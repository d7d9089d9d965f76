"""The operations of payers: people who are paid out in fiat. Only an API key may call them."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

_KEY = (Mode.API_KEY,)
_READ, _WRITE = "payers:read", "payers:write"

OPERATIONS = (
    Operation(
        "POST", "/v2/payer", "create_payer",
        "Register a person who is paid out in fiat, or update the details",
        description=(
            "The provider checks the person. Lead the person to `kycUrl` and `agreementUrl`; `compliance.updated` "
            "tells of every change. Send it again with the same `clientUserId` to update the details or to get the "
            "links again; it needs no Idempotency-Key."
        ),
        modes=_KEY,
        errors=(400, 503),
        scope=_WRITE,
        is_repeatable=True,
    ),
    Operation(
        "GET", "/v2/payer/{client_user_id}", "read_payer",
        "Whether a person may be paid out; with `export=true` all personal data that is kept",
        description="As the provider last told it. An export is written to the audit log.",
        modes=_KEY,
        errors=(400, 404),
        scope=_READ,
    ),
    Operation(
        "PATCH", "/v2/payer/{client_user_id}", "update_payer",
        "Say that a person has accepted the agreement",
        description=(
            "The provider is told, and decides: `agreementStatus` and `compliance.updated` say what it has seen."
        ),
        modes=_KEY,
        errors=(400, 404, 503),
        scope=_WRITE,
        is_repeatable=True,
    ),
    Operation(
        "DELETE", "/v2/payer/{client_user_id}", "erase_payer",
        "Erase a person",
        description=(
            "Destroys the key of all personal data, which cannot be read from then on, and has the provider erase what "
            "it may. Ids, dates and statuses stay, as payouts refer to them. 409 while a payout is under way, 404 for "
            "a person who was erased before."
        ),
        modes=_KEY,
        errors=(404, 409),
        scope=_WRITE,
        is_repeatable=True,
    ),
    Operation(
        "POST", "/v2/payer/{client_user_id}/payment-details", "add_payment_details",
        "Add a bank account of a person",
        description=(
            "The provider checks it; `payment_detail.updated` tells the outcome. The same details again are the same "
            "account, so it needs no Idempotency-Key."
        ),
        modes=_KEY,
        status=201,
        errors=(400, 404, 503),
        scope=_WRITE,
        is_repeatable=True,
    ),
    Operation(
        "GET", "/v2/payer/{client_user_id}/payment-details", "list_payment_details",
        "List the bank accounts of a person",
        description="Oldest first, at most 20; or the one that `paymentDetailsId` names.",
        modes=_KEY,
        errors=(404,),
        scope=_READ,
    ),
)
