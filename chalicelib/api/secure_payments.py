"""Secure payment links: create, read, take the calldata."""

from chalice import Blueprint

from chalicelib.api.caller import CREDENTIALS, Mode
from chalicelib.api.edge import Call, operation
from chalicelib.api.schemas.secure_payments import (
    CreateSecurePayment,
    PayAnswer,
    PayQuery,
    SecurePaymentAnswer,
    SecurePaymentCreated,
    WalletQuery,
)
from chalicelib.api.shapes import pay_answer, secure_payment_answer
from chalicelib.core.errors import BadRequest
from chalicelib.core.sources import Source
from chalicelib.flows import links

blueprint = Blueprint(__name__)
_READERS = (Mode.API_KEY, Mode.CLIENT_ID)


@operation(
    blueprint,
    "POST",
    "/v2/secure-payments",
    summary="Create a secure payment link",
    modes=CREDENTIALS,
    scope="secure_payments:write",
    body=CreateSecurePayment,
    answer=SecurePaymentCreated,
    status=201,
    errors=(400, 401, 403, 503),
)
def create_secure_payment(call: Call) -> SecurePaymentCreated:
    payment = links.create(call.services, call.caller.owner, call.body.draft())
    token = payment.link.token
    return SecurePaymentCreated(
        requestIds=[request.request_id for request in payment.requests],
        securePaymentUrl=f"{call.services.settings.pay_url}/?token={token}",
        token=token,
        feePlan=None,
    )


@operation(
    blueprint,
    "GET",
    "/v2/secure-payments/{token}",
    summary="Read a link; with `wallet`, what the wallet holds",
    modes=_READERS,
    scope="secure_payments:read",
    query=WalletQuery,
    answer=SecurePaymentAnswer,
    looks_up_token=True,
    errors=(400, 401, 403, 404, 409, 503),
)
def read_secure_payment(call: Call) -> SecurePaymentAnswer:
    caller = call.caller
    payment, wallet = links.describe(
        call.services, call.path["token"], caller.account_id, caller.client_id, call.query.wallet
    )
    return secure_payment_answer(payment, wallet)


@operation(
    blueprint,
    "GET",
    "/v2/secure-payments/{token}/pay",
    summary="The transactions that pay a link",
    modes=_READERS,
    scope="secure_payments:read",
    query=PayQuery,
    answer=PayAnswer,
    looks_up_token=True,
    errors=(400, 401, 403, 404, 409, 503),
)
def pay_secure_payment(call: Call) -> PayAnswer:
    query: PayQuery = call.query
    if query.eoaWallet is not None:
        raise BadRequest("eoaWallet is not supported yet: give the paying wallet as wallet")
    source = Source(query.chain, query.token) if query.chain is not None and query.token is not None else None
    caller = call.caller
    quote = links.quote(
        call.services, call.path["token"], caller.account_id, caller.client_id, query.wallet, source
    )
    return pay_answer(quote, call.services.settings.transaction_value_form)
