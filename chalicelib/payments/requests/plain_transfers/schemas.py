"""Models of addresses for plain transfers."""

from typing import Any

from pydantic import Field

from chalicelib.base.money import format_amount
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.payments.requests.plain_transfers.rules import amount_to_send
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of
from chalicelib.platform.http.schemas import Output

PLAIN_TRANSFER = (
    "Whether it gets an address of its own, to which an exchange can send the token (docs/plain-transfers.md). Left "
    "out, `plainTransfers` of the account decides"
)


class PlainTransferAnswer(Output):
    """An address that belongs to one payment. Only `currency` may be sent to it, and only on `network`."""

    address: str = Field(description="Its contract is deployed once the money is there")
    network: str
    chainId: int
    currency: str = Field(description="The symbol of the token")
    tokenAddress: str
    amount: str = Field(
        description="What has to arrive: what is left, and the fee. 0 once it is paid; what has arrived is not "
        "subtracted before it is paid out"
    )
    arrivedAmount: str = Field(
        description="What has arrived, with the confirmations of its network, and is not paid out yet; it is read once "
        "a minute. It counts once it is paid out, and must not be sent again"
    )
    feeAmount: str = Field(description="What each payment from the address pays as fee, whatever its amount")
    watchedUntil: str = Field(
        description="Until when the service notices what arrives, and that it was emptied to the payee without the fee "
        "proxy"
    )


def plain_transfer_field(request: Request) -> dict[str, Any]:
    """The field of a response for the address of a request; none if it has none."""
    own, token = request.plain_transfer, currency_of(request)
    if own is None:
        return {}
    answer = PlainTransferAnswer.from_record(
        own,
        network=request.network,
        chainId=require_network(request.network).chain_id,
        currency=token.symbol,
        tokenAddress=token.address,
        amount=format_amount(amount_to_send(request), token.decimals),
        arrivedAmount=format_amount(own.arrived, token.decimals),
        feeAmount=format_amount(own.fee_amount, token.decimals),
    )
    return {"plainTransfer": answer}
