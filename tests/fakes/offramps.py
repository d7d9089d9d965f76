"""Requests that are paid out to a bank account, with an order that the provider has made."""

import json
from dataclasses import replace
from typing import Any

from chalicelib.base import ids
from chalicelib.offramp.core.records import Order
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, BankAccount, KycStatus, Payer, PayerName
from chalicelib.offramp.payers.rules import name_hash
from chalicelib.payments.links import store as link_store
from chalicelib.payments.requests.records import Request
from chalicelib.platform.services import Services
from tests.fakes.requests import store_request
from tests.fakes.world import World

DEPOSIT = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
PERSON, DETAILS = "ann@example.com", "fa898aec-519c-46be-9b4c-e76ef4ff99d9"


def store_order(services: Services, account_id: str = "acct", **changes: Any) -> Request:
    """Writes a request of 12.50 fUSDC that is paid out to a bank account; `changes` are fields of its order."""
    request = store_request(services, account_id, payee=DEPOSIT, client_id="cli_shop", is_crypto_to_fiat=True)
    now = services.clock()
    order = Order(request.request_id, account_id, "user", "details", "ord_1", "0.5", now, now, **changes)
    services.store.write(order)
    return request


def load_order(services: Services, request: Request) -> Order:
    payable = link_store.load_payable(services.store, request.payable_id)
    assert payable is not None and payable.order is not None
    return payable.order


def bodies(world: World) -> list[dict[str, Any]]:
    """All bodies that the webhook has received by now, in order, without the copies for the client id."""
    world.drain()
    return [json.loads(each.body) for each in world.receiver.posted if not each.event.endswith(".client_id")]


def notified(world: World) -> list[tuple[str, str]]:
    """Event and subStatus of each of them."""
    return [(body["event"].removeprefix("payment."), body["subStatus"]) for body in bodies(world)]


def processing(*statuses: str) -> list[tuple[str, str]]:
    return [("processing", status) for status in statuses]


def store_payer(services: Services, account_id: str = "acct", person: str = PERSON, **changes: Any) -> Payer:
    """Writes a payer who may be paid out, with an approved bank account; `changes` are fields of the payer."""
    user_id, now = ids.uuid4(services.entropy), services.clock()
    payer = Payer(
        **{
            "user_id": user_id,
            "account_id": account_id,
            "client_id": None,
            "created_at": now,
            "kyc_status": KycStatus.APPROVED,
            "agreement_status": AgreementStatus.COMPLETED,
            "sealed": "sealed",
            **changes,
        }
    )
    services.store.write(
        payer, bank_account(services, payer), PayerName(name_hash(account_id, person), account_id, user_id)
    )
    return payer


def bank_account(services: Services, payer: Payer, details_id: str = DETAILS, **changes: Any) -> BankAccount:
    """Returns an approved bank account without writing it."""
    now, status = services.clock(), AccountStatus.APPROVED
    account = BankAccount(payer.user_id, details_id, payer.account_id, now, status, "sealed", "mark")
    return replace(account, **changes)


def load_payer(services: Services, payer: Payer) -> Payer:
    found = services.store.get(Payer, payer.key)
    assert found is not None
    return found
