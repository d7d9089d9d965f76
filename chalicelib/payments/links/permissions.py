"""What the owner of a client id lets it link without a secret credential."""

from collections.abc import Iterable

from chalicelib.chains.catalogue.interop import Destination
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import permissions
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode


def check_link_limits(owner: Owner, payments: Iterable[PayableLink], bound: Destination | None) -> None:
    """Raises Forbidden if a limited client id creates or combines `payments` beyond what its owner allows.

    `bound` is its active payee destination, which is always allowed (chalicelib/payments/requests/permissions.py).
    """
    for payable in payments:
        is_charged = any(payable.link.fee.on(request.amount) for request in payable.requests)
        fee_address = payable.link.fee_address if is_charged else None
        permissions.check_limits(owner, payable.requests, fee_address, bound)


def knows_payees(owner: Owner) -> bool:
    """Whether the owner of the client id knows who gets money by a link that is created so, fees included: by a secret
    credential, or within `allowed_payees` (`check_link_limits`)."""
    return owner.mode is not Mode.CLIENT_ID or owner.settings.allowed_payees is not None
