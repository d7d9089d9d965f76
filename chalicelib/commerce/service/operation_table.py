"""The operations on commerce payments as one table: what differs from one to the next.

Everything else is the same for all: a view takes the body (api.py), rules.py makes the operation of it, core/rules.py
refuses or reserves it, and execution.py executes it, or flows.py gives what the operator sends for it.
"""

from chalicelib.base.frozen import frozen


@frozen
class Described:
    """An operation, by the value of its OperationKind: `body_field` and `response_field` are the names of its amount.

    One that `takes_payer` takes tokens from a payer, by what they have approved or signed; one that `takes_fee`
    captures, with a fee.
    """

    kind: str
    body_field: str = "amount"
    response_field: str = "amount"
    takes_payer: bool = False
    takes_fee: bool = False


TABLE = (
    Described("authorize", takes_payer=True),
    Described("charge", takes_payer=True, takes_fee=True),
    Described("capture", body_field="captureAmount", response_field="captureAmount", takes_fee=True),
    Described("void", response_field="voidedAmount"),
    Described("refund", body_field="refundAmount", response_field="refundAmount"),
)
BY_KIND = {each.kind: each for each in TABLE}
"""By OperationKind, too, whose values they are: the routes load no records."""
