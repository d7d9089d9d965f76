"""The operations that create payouts, and answer with the transactions that pay them."""

from chalicelib.platform.access.modes import CREDENTIALS
from chalicelib.platform.http.operation import Operation


def _pay_out(path: str, name: str, summary: str, former_path_of: str = "") -> Operation:
    return Operation(
        "POST", path, name,
        summary,
        description=(
            "Creates a request, and answers with `transactions` to sign and send in their order. Facts of the wallet "
            "are there with `payerWallet` only. A webhook tells when the payment is confirmed."
        ),
        modes=CREDENTIALS,
        scope="requests:write",
        status=201,
        moves_money=True,
        errors=(400, 401, 403, 503),
        former_path_of=former_path_of,
    )


OPERATIONS = (
    _pay_out("/v2/payouts", "pay_out", "Create a payout, with the transactions that pay it"),
    _pay_out("/v2/pay", "pay_out_by_former_path", "The same as POST /v2/payouts, by its former path", "/v2/payouts"),
    Operation(
        "POST", "/v2/payouts/batch", "pay_batch",
        "Pay up to 200 payouts in one transaction",
        description=(
            "Creates `requests`, or pays what is left of `requestIds`, through the batch contract of one EVM network. "
            "Tokens, the native coin and conversions can be mixed. Each payment has its own webhook."
        ),
        modes=CREDENTIALS,
        scope="requests:write",
        status=201,
        moves_money=True,
        errors=(400, 401, 403, 404, 409, 503),
    ),
)
