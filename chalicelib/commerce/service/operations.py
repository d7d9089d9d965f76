"""The operations on commerce payments as one table: what differs from one to the next.

Everything else is the same for all: a view takes the body (api.py), rules.py makes the operation of it, core/rules.py
refuses or reserves it, and operating.py executes it, or flows.py gives what the operator sends for it.
"""

from chalicelib.base.frozen import frozen

_CALLDATA = "For an operator with a wallet of its own, which sends the transaction. Amounts are in base units."
_EXECUTED = (
    "The service's own account sends the transaction; a call is sent once, however often this is called. The state "
    "changes when the chain has the escrow's event. A client ID that is sent alone needs `mayExecute` and names "
    "neither `amount` nor a fee. Amounts are in base units."
)


@frozen
class Described:
    """An operation, by the value of its OperationKind: its amount is called `sent` in the body, `told` in the response.

    One that `takes_payer` takes tokens from a payer, by what they have approved or signed; one that `takes_fee`
    captures, with a fee. The texts are those of the OpenAPI document, for the two routes: by the service's own account,
    and as calldata.
    """

    kind: str
    summary: str
    calldata_summary: str
    sent: str = "amount"
    told: str = "amount"
    takes_payer: bool = False
    takes_fee: bool = False
    description: str = _EXECUTED
    calldata_description: str = _CALLDATA


TABLE = (
    Described(
        "authorize",
        "Have a payer's tokens put into the escrow",
        "The transaction that puts a payer's tokens into the escrow",
        takes_payer=True,
        description=(
            "By what the payer allowed or signed; tokens that were pre-approved are also collected without this call, "
            "unless a client ID without `mayExecute` has created the payment alone. The service's own account sends "
            "the transaction, once, however often this is called. A client ID that is sent alone needs `mayExecute`."
        ),
    ),
    Described(
        "charge",
        "Authorize and capture at once",
        "The transaction that authorizes and captures at once",
        takes_payer=True,
        takes_fee=True,
    ),
    Described(
        "capture",
        "Capture a part or all of what is held",
        "The transaction that captures",
        sent="captureAmount",
        told="captureAmount",
        takes_fee=True,
    ),
    Described(
        "void",
        "Give all that is held back to the payer",
        "The transaction that voids",
        told="voidedAmount",
    ),
    Described(
        "refund",
        "Give the payer back a part or all of what was captured",
        "The transactions that refund",
        sent="refundAmount",
        told="refundAmount",
        description=(
            f"{_EXECUTED} The tokens come from the merchant's wallet, which has allowed them to the service's own "
            "account before: `operator` of the status. At most what the merchant received."
        ),
        calldata_description=f"{_CALLDATA} The tokens come from the operator's wallet: `transactions` approve them "
        "first.",
    ),
)
BY_KIND = {each.kind: each for each in TABLE}
"""By OperationKind, too, whose values they are: the routes load no records."""
