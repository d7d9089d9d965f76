"""A payer of the world's merchant, and what became of it."""

import json
from typing import Any

from chalicelib.offramp.payers import bank_accounts, flows, reading, store
from chalicelib.offramp.payers.records import BankAccount, Payer
from chalicelib.platform.outbound.compliance import ProviderAccount, ProviderUser
from chalicelib.platform.services import Services
from tests.fakes.compliance import BANK, PERSON
from tests.fakes.world import World

NAME = "ada@example.com"


def register(world: World, services: Services | None = None, name: str = NAME, **changes: Any) -> Payer:
    """Registers a person as POST /v2/payer does."""
    details = {**PERSON, "email": name, **changes}
    return flows.put(services or world.services, world.actor, world.client_id, name, details)[0]


def add_account(world: World, services: Services | None = None, **changes: Any) -> BankAccount:
    """Adds a bank account as POST .../payment-details does."""
    return bank_accounts.add(services or world.services, world.account_id, NAME, {**BANK, **changes})


def payer(world: World, name: str = NAME) -> Payer:
    return reading.read(world.services, world.account_id, name)


def account(world: World, made: BankAccount) -> BankAccount:
    found = store.bank_account(world.services.store, made.user_id, made.details_id)
    assert found is not None
    return found


def said(payer: Payer, sequence: int, kyc: str = "not_started", agreement: str = "not_started") -> ProviderUser:
    """What the provider says of a person."""
    return ProviderUser(payer.user_id, sequence, kyc, agreement)


def said_of(account: BankAccount, sequence: int, status: str, reason: str | None = None) -> ProviderAccount:
    """What the provider says of a bank account."""
    return ProviderAccount(account.details_id, account.user_id, sequence, status, reason)


def notified(world: World) -> list[dict[str, Any]]:
    """The bodies that the merchant's webhook has received."""
    world.drain()
    return [json.loads(each.body) for each in world.receiver.posted]


def states(world: World) -> list[tuple[str, str]]:
    """The provider's states in `compliance.updated`, in the order in which they were told."""
    return [(raw["kycStatus"], raw["agreementStatus"]) for raw in (each["rawPayload"] for each in notified(world))]
