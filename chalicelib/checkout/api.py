"""What a payer does with a link: read it, take the calldata."""

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.flows import Payer
from chalicelib.checkout.rules import Source
from chalicelib.checkout.schemas.link import BatchPaymentAnswer, SecurePaymentAnswer, WalletQuery, secure_payment_answer
from chalicelib.checkout.schemas.pay import BatchPayAnswer, MulticallPayAnswer, PayAnswer, PayQuery
from chalicelib.checkout.schemas.pay_answers import pay_answer
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.links.flows import Reader
from chalicelib.links.multicalls.schemas import MulticallAnswer
from chalicelib.links.multicalls.shapes import multicall_answer

blueprint = Blueprint(__name__)
READERS = (Mode.API_KEY, Mode.CLIENT_ID)


@operation(
    blueprint,
    "GET",
    "/v2/secure-payments/{token}",
    summary="Read a link; with `wallet`, what the wallet holds",
    modes=READERS,
    scope="secure_payments:read",
    query=WalletQuery,
    answer=SecurePaymentAnswer | BatchPaymentAnswer | MulticallAnswer,
    looks_up_token=True,
    by_page=True,
    errors=(400, 401, 403, 404, 409, 423, 503),
)
def read_secure_payment(call: Call) -> SecurePaymentAnswer | BatchPaymentAnswer | MulticallAnswer:
    description = checkout.describe(call.services, call.path["token"], Reader.of(call.caller), call.query.wallet)
    confirmations = call.services.settings.confirmations
    if description.multicall is not None:
        return multicall_answer(description.multicall, description.branding, confirmations)
    return secure_payment_answer(description, confirmations)


@operation(
    blueprint,
    "GET",
    "/v2/secure-payments/{token}/pay",
    summary="The transactions that pay a link",
    modes=READERS,
    scope="secure_payments:read",
    query=PayQuery,
    answer=PayAnswer | BatchPayAnswer | MulticallPayAnswer,
    looks_up_token=True,
    by_page=True,
    errors=(400, 401, 403, 404, 409, 423, 503),
)
def pay_secure_payment(call: Call) -> PayAnswer | BatchPayAnswer | MulticallPayAnswer:
    query: PayQuery = call.query
    payer = Payer(
        wallet=query.wallet,
        source=Source(query.chain, query.token) if query.chain is not None and query.token is not None else None,
        is_safe=query.isSafe == "true",
        eoa_wallet=query.eoaWallet,
        simulate=query.simulate == "true",
    )
    quote = checkout.quote(call.services, call.path["token"], Reader.of(call.caller), payer)
    return pay_answer(quote, call.services.settings.transaction_value_form)
