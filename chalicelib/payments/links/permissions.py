"""What the owner of a client id lets it link without a secret credential."""

from collections.abc import Iterable

from chalicelib.chains.catalogue.interop import Destination
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import permissions
from chalicelib.platform.access.callers import Owner


def check_limits(owner: Owner, payments: Iterable[PayableLink], bound: Destination | None) -> None:
    """Raises Forbidden if a limited client id creates or combines `payments` beyond what its owner allows.

    `bound` is its active payee destination, which is always allowed (chalicelib/payments/requests/permissions.py).
    """
    for payment in payments:
        is_charged = any(payment.link.fee.on(request.amount) for request in payment.requests)
        fee_address = payment.link.fee_address if is_charged else None
        permissions.check_limits(owner, payment.requests, fee_address, bound)
