"""Seals and opens the personal data of payers and of bank accounts."""

import json
from collections.abc import Mapping
from dataclasses import replace

from chalicelib.base.ids import Entropy
from chalicelib.offramp.payers.records import BankAccount, Payer
from chalicelib.platform.privacy.rules import open_text, seal_text

Details = Mapping[str, str]
"""Details by their names in the interface; those that were not given are absent."""
_CLIENT_USER_ID = "clientUserId"


def seal_person(key: bytes, client_user_id: str, details: Details, entropy: Entropy) -> str:
    """What is stored of a person: the merchant's id and the details of POST /v2/payer."""
    return seal_text(key, "payer", json.dumps({_CLIENT_USER_ID: client_user_id, **details}), entropy)


def person(key: bytes, payer: Payer) -> tuple[str, Details]:
    """The merchant's id of a person, and the details of POST /v2/payer."""
    assert payer.sealed is not None, "a payer who was erased has no key"
    details: dict[str, str] = json.loads(open_text(key, "payer", payer.sealed))
    return details.pop(_CLIENT_USER_ID), details


def submission(key: bytes, payer: Payer) -> Details:
    """The newest details of a person: those that the provider is asked to take, or that it has taken last."""
    newest = payer if payer.update is None else replace(payer, sealed=payer.update)
    return person(key, newest)[1]


def with_sealed(key: bytes, account: BankAccount, details: Details, entropy: Entropy) -> BankAccount:
    """A bank account with its details, sealed for it alone."""
    return replace(account, sealed=seal_text(key, _place(account), json.dumps(details), entropy))


def bank_details(key: bytes, account: BankAccount) -> Details:
    """The details of POST /v2/payer/{clientUserId}/payment-details."""
    assert account.sealed is not None, "an account that was erased has no key"
    details: dict[str, str] = json.loads(open_text(key, _place(account), account.sealed))
    return details


def _place(account: BankAccount) -> str:
    return f"account/{account.details_id}"
