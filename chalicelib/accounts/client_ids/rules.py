"""Makes and changes client ids, and checks the settings that their owner chooses."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict

from chalicelib.base import ids, money
from chalicelib.base.errors import BadRequest
from chalicelib.base.ids import Entropy
from chalicelib.chains.catalogue.recipients import OwnAddresses, parse_recipient
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash, parse_origin

_FEE_DECIMALS = 2


class ClientIdSettings(TypedDict, total=False):
    """Settings by the field name of the record. Settings that are left out do not change; None unsets."""

    label: str
    allowed_domains: Sequence[str]
    fee_percentage: str | None
    fee_address: str | None
    operator_wallet_address: str | None
    default_pre_approval_expiry: int | None
    default_authorization_expiry: int | None
    payee_destination_id: str | None
    admits_orchestrator: str | None
    allowed_payees: Sequence[str] | None
    allowed_currencies: Sequence[str] | None
    uses_payment_intents: bool
    may_execute: bool
    may_read_payers: bool
    status: CredentialStatus
    is_test: bool
    """Only of a new client id."""


def new_client_id(
    account_id: str, settings: ClientIdSettings, own: OwnAddresses, now: datetime, entropy: Entropy
) -> ClientId:
    """A new client id of the account; `own` are addresses that receive nothing (`parse_recipient`). Raises BadRequest
    (supplement of the interface, client ids)."""
    client_id = ids.client_id(entropy, settings.get("is_test", False))
    record = ClientId(
        client_id_hash=credential_hash(client_id),
        client_id=client_id,
        record_id=ids.ulid(now, entropy),
        account_id=account_id,
        label="",
        allowed_domains=(),
        status=CredentialStatus.ACTIVE,
        created_at=now,
    )
    return _consistent(replace(record, **_check_settings(settings, own)))


def apply_settings(record: ClientId, settings: ClientIdSettings, own: OwnAddresses, now: datetime) -> ClientId:
    """The client id with other settings. Raises BadRequest, also if a revoked one would become active again."""
    wanted = settings.get("status", record.status)
    if record.status is CredentialStatus.REVOKED and wanted is not CredentialStatus.REVOKED:
        raise BadRequest("cannot reactivate revoked ID")
    return _consistent(replace(record, **_check_settings(settings, own), updated_at=now))


def _consistent(record: ClientId) -> ClientId:
    if record.fee_percentage is not None and record.fee_address is None:
        raise BadRequest("feeAddress is required when feePercentage is set")
    return record


def _check_settings(settings: ClientIdSettings, own: OwnAddresses) -> Mapping[str, Any]:
    def wallet(text: str) -> str:
        return parse_recipient(text, "evm", own)

    checked: dict[str, Any] = dict(settings)
    if "allowed_domains" in settings:
        checked["allowed_domains"] = _each("allowedDomains", parse_origin, settings["allowed_domains"])
    if (payees := settings.get("allowed_payees")) is not None:
        checked["allowed_payees"] = _each("allowedPayees", lambda text: _payee(text, own), payees)
    if (currencies := settings.get("allowed_currencies")) is not None:
        checked["allowed_currencies"] = _each("allowedCurrencies", _currency, currencies)
    if (percentage := settings.get("fee_percentage")) is not None:
        checked["fee_percentage"] = _percentage(percentage)
    if (address := settings.get("fee_address")) is not None:
        checked["fee_address"] = _field("feeAddress", wallet, address)
    if (address := settings.get("operator_wallet_address")) is not None:
        checked["operator_wallet_address"] = _field("operatorWalletAddress", wallet, address)
    return checked


def _percentage(text: str) -> str:
    with suppress(BadRequest):
        money.parse_percentage(text)
        if len(text.partition(".")[2]) <= _FEE_DECIMALS:
            return text
    raise BadRequest(
        f"feePercentage must be a plain decimal number from 0 to 100 with at most {_FEE_DECIMALS} decimals, such as 1.5"
    )


def _payee(text: str, own: OwnAddresses) -> str:
    try:
        return parse_recipient(text, "tron" if text.startswith("T") else "evm", own)
    except BadRequest as error:
        raise BadRequest(f"{text!r}: {error.message}") from None


def _currency(text: str) -> str:
    token = token_with_id(text)
    if token is None:
        raise BadRequest(f"{text!r} is not supported; GET /v2/currencies lists the ids")
    if token.network == "fiat":
        raise BadRequest(f"{token.id} cannot be paid on a chain; choose a token")
    return token.id


def _each(name: str, parse: Callable[[str], str], texts: Sequence[str]) -> tuple[str, ...]:
    """The parsed values, each once."""
    return tuple(dict.fromkeys(_field(name, parse, text) for text in texts))


def _field(name: str, parse: Callable[[str], str], text: str) -> str:
    try:
        return parse(text)
    except BadRequest as error:
        raise BadRequest(f"{name}: {error.message}") from None
