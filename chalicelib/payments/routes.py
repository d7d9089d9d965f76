"""The operations of requests and links, of what was paid of them, and of the currencies."""

from chalicelib.platform.access.modes import CREDENTIALS, Mode
from chalicelib.platform.http.operation import Operation, ProblemForm

_OWNERS = (Mode.ORCHESTRATOR, Mode.API_KEY, Mode.SESSION)
_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID, Mode.SESSION)
_READERS = (Mode.PUBLIC, Mode.API_KEY, Mode.CLIENT_ID)
_SECRETS = (Mode.API_KEY, Mode.SESSION)

ROUTES = {
    "currencies.api": (
        Operation("GET", "/v2/currencies", "list_currencies", _READERS, problem_form=ProblemForm.LIST),
        Operation("GET", "/v2/currencies/{currency_id}/conversion-routes", "list_conversion_routes", _READERS),
    ),
    "requests.api": (
        Operation("POST", "/v2/request", "create_request", CREDENTIALS, scope="requests:write", status=201),
        Operation("PATCH", "/v2/request/{request_id}", "update_request", CREDENTIALS, scope="requests:write"),
    ),
    "search.requests.api": (
        Operation("GET", "/v2/request", "list_requests", CREDENTIALS, scope="requests:read"),
        Operation("GET", "/v2/request/{request_id}", "read_request", CREDENTIALS, scope="requests:read"),
        Operation("GET", "/v2/request/{request_id}/status", "read_request_status", CREDENTIALS, scope="requests:read"),
    ),
    "search.payments.api": (
        Operation(
            "GET", "/v2/payments", "find_payments", CREDENTIALS, scope="requests:read",
            problem_form=ProblemForm.SUMMARY,
        ),
    ),
    "archive.api": (
        Operation("GET", "/v2/archive/requests", "list_archived_requests", _SECRETS, scope="requests:read"),
    ),
    "links.api": (
        Operation(
            "POST", "/v2/secure-payments", "create_secure_payment", CREDENTIALS, scope="secure_payments:write",
            status=201,
        ),
        Operation(
            "PATCH", "/v2/secure-payments/{token}", "update_secure_payment", _OWNERS, scope="secure_payments:write",
            looks_up_token=True,
        ),
        Operation("GET", "/v2/secure-payments", "look_up_secure_payment", CREDENTIALS, scope="secure_payments:read"),
        Operation(
            "POST", "/v2/secure-payments/fees/preview", "preview_fees", CREDENTIALS, scope="secure_payments:read",
        ),
    ),
    "links.cancelling.api": (
        Operation(
            "POST", "/v2/secure-payments/{token}/cancel", "cancel_secure_payment", _OWNERS,
            scope="secure_payments:write", looks_up_token=True,
        ),
        Operation("POST", "/v2/request/{request_id}/cancel", "cancel_request", _OWNERS, scope="requests:write"),
    ),
    "links.multicalls.api": (
        Operation(
            "POST", "/v2/secure-payments/multicall-payouts", "create_multicall_payout", CREDENTIALS,
            scope="payouts:write", status=201,
        ),
        Operation(
            "GET", "/v2/secure-payments/multicall-payouts/{token}", "read_multicall_payout", (Mode.SESSION,),
            scope="payouts:read", looks_up_token=True,
        ),
    ),
    "links.payouts.api": (
        Operation(
            "POST", "/v2/secure-payments/payouts", "create_payout", CREDENTIALS, scope="payouts:write", status=201,
        ),
        Operation(
            "POST", "/v2/secure-payments/payouts/batch", "create_payouts", CREDENTIALS, scope="payouts:write",
            status=201,
        ),
        Operation(
            "POST", "/v2/secure-payments/batch-payouts", "batch_payouts", CREDENTIALS, scope="payouts:write",
            status=201,
        ),
    ),
    "transfers.api": (
        Operation(
            "GET", "/v2/secure-payments/{token}/transfers", "list_transfers", _CALLERS, scope="secure_payments:read",
            looks_up_token=True,
        ),
        Operation(
            "GET", "/v2/request/{request_id}/transfers", "list_transfers_of_request", _CALLERS, scope="requests:read",
        ),
        Operation(
            "POST", "/v2/request/{request_id}/refund", "refund_request", _SECRETS, scope="requests:write",
            moves_money=True,
        ),
    ),
    "transfers.accepting.api": (
        Operation("POST", "/v2/request/{request_id}/accept", "accept_request", _OWNERS, scope="requests:write"),
    ),
    "scanning.api": (Operation("GET", "/v2/status", "show_status", (Mode.PUBLIC,)),),
}
