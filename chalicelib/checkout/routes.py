"""The operations of payers: what pays a link, a request or a payout, and what they tell of it."""

from chalicelib.platform.access.modes import CREDENTIALS, Mode
from chalicelib.platform.http.operation import Operation, ProblemForm

_CALLERS = (Mode.API_KEY, Mode.CLIENT_ID)

ROUTES = {
    "api": (
        Operation(
            "GET", "/v2/secure-payments/{token}", "read_secure_payment", _CALLERS, scope="secure_payments:read",
            looks_up_token=True, by_page=True,
        ),
        Operation(
            "POST", "/v2/secure-payments/preview", "preview_secure_payment", (Mode.API_KEY, Mode.SESSION),
            scope="secure_payments:write", is_repeatable=True,
        ),
        Operation(
            "GET", "/v2/secure-payments/{token}/pay", "pay_secure_payment", _CALLERS, scope="secure_payments:read",
            moves_money=True, looks_up_token=True, by_page=True,
        ),
        Operation(
            "GET", "/v2/secure-payments/{token}/reclaim", "reclaim_secure_payment", _CALLERS,
            scope="secure_payments:read", looks_up_token=True, by_page=True,
        ),
        Operation(
            "POST", "/v2/secure-payments/{token}/refresh-step-transaction", "refresh_step_transaction", _CALLERS,
            scope="secure_payments:read", moves_money=True, is_repeatable=True, looks_up_token=True,
        ),
    ),
    "announcements.api": (
        Operation(
            "POST", "/v2/secure-payments/{token}/intent", "record_intent", _CALLERS, scope="secure_payments:write",
            looks_up_token=True, by_page=True,
        ),
        Operation(
            "DELETE", "/v2/secure-payments/{token}/intent", "withdraw_intent", (Mode.API_KEY, Mode.SESSION),
            scope="secure_payments:write", looks_up_token=True,
        ),
    ),
    "signing.api": (
        Operation(
            "POST", "/v2/secure-payments/{token}/signing", "claim_signing", _CALLERS,
            scope="secure_payments:write", is_repeatable=True, looks_up_token=True, by_page=True,
        ),
        Operation(
            "DELETE", "/v2/secure-payments/{token}/signing", "end_signing", _CALLERS,
            scope="secure_payments:write", is_repeatable=True, looks_up_token=True, by_page=True,
        ),
    ),
    "broadcasts.api": (
        Operation(
            "POST", "/v2/secure-payments/{token}/tron/broadcast", "broadcast_transaction", _CALLERS,
            scope="secure_payments:write", moves_money=True, looks_up_token=True, by_page=True,
        ),
    ),
    "energy.api": (
        Operation(
            "POST", "/v2/secure-payments/{token}/tron/energy", "delegate_energy", _CALLERS,
            scope="secure_payments:write", moves_money=True, executes=True, is_repeatable=True, looks_up_token=True,
        ),
    ),
    "requests.api": (
        Operation(
            "GET", "/v2/request/{request_id}/pay", "pay_request", _CALLERS, scope="requests:read",
            problem_form=ProblemForm.SUMMARY, moves_money=True,
        ),
        Operation("GET", "/v2/request/{request_id}/routes", "list_routes", _CALLERS, scope="requests:read"),
    ),
    "plain_transfers.api": (
        Operation(
            "GET", "/v2/request/{request_id}/plain-transfer", "read_plain_transfer", _CALLERS, scope="requests:read",
            moves_money=True,
        ),
    ),
    "safe_proposals.api": (
        Operation(
            "POST", "/v2/safe-proposals", "propose_to_safe", (Mode.API_KEY, Mode.SESSION), scope="requests:write",
            moves_money=True, is_repeatable=True,
        ),
    ),
    "payouts.api": (
        Operation("POST", "/v2/payouts", "pay_out", CREDENTIALS, scope="payouts:write", status=201, moves_money=True),
        Operation(
            "POST", "/v2/pay", "pay_out_by_former_path", CREDENTIALS, scope="payouts:write", status=201,
            moves_money=True, former_path_of="/v2/payouts",
        ),
        Operation(
            "POST", "/v2/payouts/batch", "pay_batch", CREDENTIALS, scope="payouts:write", status=201, moves_money=True,
        ),
    ),
}
