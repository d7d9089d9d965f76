"""What can be paid out at once: which requests, and how many in one transaction."""

from collections.abc import Sequence

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.chains.calldata.checkout import fitting
from chalicelib.payments.links.errors import TronBatchRefused
from chalicelib.payments.payable.rules import Position
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import check_not_cancelled, remaining

MOST_AT_ONCE = 200


def check_together(requests: Sequence[Request]) -> None:
    """Raises BadRequest unless one batch contract can pay all requests (supplement, 4.2)."""
    networks = {request.network for request in requests}
    if "tron" in networks:
        raise TronBatchRefused("Make one payout for each of them")
    if len(networks) > 1:
        raise BadRequest("All requests must be on the same network")


def check_fits(positions: Sequence[Position]) -> None:
    """Raises BadRequest if the payments need more gas than one transaction may use."""
    most = fitting([each.due for each in positions])
    if most < len(positions):
        raise BadRequest(
            f"Only the first {most} of these {len(positions)} payments fit into one transaction: pay the others in "
            "another batch"
        )


def check_for_wallets(requests: Sequence[Request]) -> None:
    """Raises BadRequest for a request that may be paid out to a bank account, which is chosen with its own /pay."""
    other = next((request.request_id for request in requests if request.is_crypto_to_fiat), None)
    if other is not None:
        raise BadRequest(f"Request {other} may be paid out to a bank account: pay it by itself")


def check_unpaid(requests: Sequence[Request]) -> None:
    """Raises RequestCancelled for a cancelled request, and Conflict, which names them, if some have been paid."""
    for request in requests:
        check_not_cancelled(request)
    paid = [request.request_id for request in requests if not remaining(request)]
    if paid:
        raise Conflict(f"These requests have already been paid: {', '.join(paid)}")
