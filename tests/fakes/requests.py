"""Requests that stand by themselves, without a link, as their creation writes them."""

from typing import Any

from chalicelib.base import ids
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links import store as link_store
from chalicelib.payments.requests.flows import save_many
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.references import payment_reference
from chalicelib.platform.services import Services
from tests.fakes.world import PAYEE

AMOUNT = BaseUnits(12_500_000)


def store_request(services: Services, account_id: str = "acct", **changes: Any) -> Request:
    """Writes a request of 12.50 fUSDC on sepolia with its index entry; `changes` are its fields."""
    request = standalone(services, account_id, **changes)
    save_many(services, [request])
    return load_request(services, request)


def load_request(services: Services, request: Request) -> Request:
    """The request as it is stored now."""
    payable = link_store.load_payable(services.store, request.payable_id)
    assert payable is not None
    return next(each for each in payable.requests if each.request_id == request.request_id)


def standalone(services: Services, account_id: str = "acct", **changes: Any) -> Request:
    """Returns a request without writing it."""
    request_id, salt = ids.request_id(services.entropy), ids.salt(services.entropy)
    payee = changes.get("payee", PAYEE)
    token = token_with_id(changes.get("currency", "fUSDC-sepolia"))
    assert token is not None
    fields: dict[str, Any] = {
        "payable_id": request_id,
        "position": 0,
        "request_id": request_id,
        "salt": salt,
        "payment_reference": "0x" + payment_reference(request_id, salt, payee).hex(),
        "payee": payee,
        "network": token.network,
        "currency": token.id,
        "amount": AMOUNT,
        "status": RequestStatus.CREATED,
        "paid": BaseUnits(0),
        "tx_hash": None,
        "account_id": account_id,
        "created_at": services.clock(),
        **changes,
    }
    return Request(**fields)
