"""The client of the compliance and off-ramp provider, which checks people and bank accounts and sends fiat to them.

The protocol is described in docs/operations.md. This service chooses every id, so a PUT that is repeated creates
nothing twice: the provider answers with what there is. The details of a person can change, so their PUT has a header
`idempotency-key: <id>/<number>`: one whose number is not higher than the last one taken changes nothing.

    PUT    /users/<id>                       a person's details         -> user
    GET    /users/<id>                                                  -> user
    PUT    /users/<id>/agreement             {"completed": true}        -> user
    DELETE /users/<id>                       forget the person          -> 204
    PUT    /users/<id>/bank-accounts/<id>    an account's details       -> bank account
    GET    /users/<id>/bank-accounts/<id>                               -> bank account
    PUT    /orders/<id>                      tokens to be sent as fiat  -> order
    GET    /orders/<id>                                                 -> order

    user          {"id", "sequence", "kycStatus", "agreementStatus", "kycUrl", "agreementUrl"}
    bank account  {"id", "userId", "sequence", "status", "reason"}
    order         {"id", "userId", "bankAccountId", "sequence", "status", "reason", "providerId", "depositAddress",
                   "amount", "fee"}

`sequence` grows with every change of a resource. 400 or 422 refuses details: {"fields": ["phone"]}. What the provider
answers is a claim: a response that is not in this form, or is about another resource, does not count.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from chalicelib.base.errors import ServiceError
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.rpc.http_client import HttpClient, HttpError, json_of

_MAX_RESPONSE_BYTES = 64 * 1024
_STATUS = re.compile("[a-z_]{1,40}")
_URL = re.compile(r"https?://[^\s/?#<>\"'`]+[^\s<>\"'`]{0,2000}")
_ADDRESS = re.compile("0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33}")
_AMOUNT = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?")
_MOST_BRACKETS = 200  # in a body, for json_of
_LATEST_SEQUENCE = 2**53 - 1
_LONGEST_TEXT, _MOST_FIELDS = 200, 30
R = TypeVar("R")


class ProviderUnavailable(ServiceError):
    """The provider gave no usable answer; it is unknown whether it did what it was asked. The log has the `reason`."""

    status = 503

    def __init__(self, reason: str) -> None:
        super().__init__("The compliance provider did not answer: try again")
        self.logged = f"The compliance provider did not answer: {reason}"


class ProviderRefused(Exception):
    """The provider refuses the details that were sent, and keeps none. `fields` are the wrong ones, if known."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


@frozen
class ProviderUser:
    """A person as the provider knows them. The URLs lead the person to the identity check and the agreement."""

    user_id: str
    sequence: int
    kyc_status: str
    agreement_status: str
    kyc_url: str | None = None
    agreement_url: str | None = None


@frozen
class ProviderAccount:
    """A bank account as the provider knows it. `reason` says why it failed, for the account's owner."""

    account_id: str
    user_id: str
    sequence: int
    status: str
    reason: str | None = None


@frozen
class NewOrder:
    """Tokens that the provider is asked to send to a bank account as fiat.

    `amount` is in units of the token (`token` is its symbol, `token_address` is empty for the native coin). `reference`
    is the payment reference that the payment on chain has.
    """

    order_id: str
    user_id: str
    account_id: str
    network: str
    token: str
    token_address: str
    amount: str
    reference: str


@frozen
class ProviderOrder:
    """An order as the provider knows it. Tokens are paid to `deposit_address`; `amount`, which is expected there, and
    `fee` are in units of the token.

    `provider_id` is the provider's own id. `reason` says why it failed.
    """

    order_id: str
    user_id: str
    account_id: str
    sequence: int
    status: str
    provider_id: str
    deposit_address: str
    amount: str
    fee: str
    reason: str | None = None


class Compliance:
    """The client of the provider. Without `base_url` there is none: `is_configured` is False.

    Methods that read return None if the provider does not know the resource. All raise ProviderUnavailable.
    """

    def __init__(self, base_url: str, key: Callable[[], str | None] = lambda: None) -> None:
        """`key` is called once, before the first request."""
        self._base_url, self._key = base_url, key

    @property
    def is_configured(self) -> bool:
        return bool(self._base_url)

    def put_user(self, user_id: str, details: Mapping[str, str], key: str) -> ProviderUser:
        """Creates or updates a person; `details` have the names of POST /v2/payer. A `key` that was sent before changes
        nothing. Raises ProviderRefused."""
        return _own(user_of, user_id, self._put(f"/users/{user_id}", details, key))

    def user(self, user_id: str) -> ProviderUser | None:
        found = self._get(f"/users/{user_id}")
        return None if found is None else _own(user_of, user_id, found)

    def complete_agreement(self, user_id: str) -> ProviderUser:
        """Says that the person has accepted the agreement; the answer says whether the provider has seen that."""
        return _own(user_of, user_id, self._put(f"/users/{user_id}/agreement", {"completed": True}))

    def forget_user(self, user_id: str) -> None:
        """Asks the provider to erase what it may of a person. One that it does not know counts as erased."""
        status, _ = self._send("DELETE", f"/users/{user_id}", None)
        if status not in (200, 202, 204, 404):
            raise ProviderUnavailable(f"status {status}")

    def put_account(self, user_id: str, account_id: str, details: Mapping[str, str]) -> ProviderAccount:
        """Submits a bank account of a person. Raises ProviderRefused."""
        return _own(account_of, account_id, self._put(f"/users/{user_id}/bank-accounts/{account_id}", details))

    def account(self, user_id: str, account_id: str) -> ProviderAccount | None:
        found = self._get(f"/users/{user_id}/bank-accounts/{account_id}")
        return None if found is None else _own(account_of, account_id, found)

    def put_order(self, order: NewOrder) -> ProviderOrder:
        """Creates an order, or returns the one with its id, whose amount is changed if it still can be. Raises
        ProviderRefused."""
        body = {
            "userId": order.user_id,
            "bankAccountId": order.account_id,
            "network": order.network,
            "token": order.token,
            "tokenAddress": order.token_address,
            "amount": order.amount,
            "reference": order.reference,
        }
        return _own(order_of, order.order_id, self._put(f"/orders/{order.order_id}", body))

    def order(self, order_id: str) -> ProviderOrder | None:
        found = self._get(f"/orders/{order_id}")
        return None if found is None else _own(order_of, order_id, found)

    def _get(self, path: str) -> dict[str, Any] | None:
        status, body = self._send("GET", path, None)
        if status == 404:
            return None
        if status != 200:
            raise ProviderUnavailable(f"status {status}")
        return object_of(body)

    def _put(self, path: str, content: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        status, body = self._send("PUT", path, content, key)
        if status in (400, 422):
            raise ProviderRefused(tuple(name for name in _fields_of_refusal(body) if name in content))
        if status not in (200, 201):
            raise ProviderUnavailable(f"status {status}")
        return object_of(body)

    def _send(
        self, method: str, path: str, content: Mapping[str, Any] | None, key: str | None = None
    ) -> tuple[int, bytes]:
        """Status and body of one request, which is not repeated."""
        try:
            if method == "GET":
                response = self._client.get(path)
            elif method == "DELETE":
                response = self._client.delete(path)
            else:
                response = self._client.put_json(path, content, {"idempotency-key": key} if key else {})
        except HttpError as error:
            raise ProviderUnavailable(type(error).__name__) from error
        return response.status, response.body

    @cached_property
    def _client(self) -> HttpClient:
        key = self._key()
        return HttpClient(self._base_url, _MAX_RESPONSE_BYTES, {"authorization": f"Bearer {key}"} if key else {})


def user_of(found: Any) -> ProviderUser:
    """A user as the provider sends it, in answers and events. Raises ProviderUnavailable."""
    fields = _fields(found)
    return ProviderUser(
        user_id=text_of(fields, "id"),
        sequence=_sequence(fields),
        kyc_status=_matching(_STATUS, fields, "kycStatus"),
        agreement_status=_matching(_STATUS, fields, "agreementStatus"),
        kyc_url=_matching(_URL, fields, "kycUrl") if fields.get("kycUrl") else None,
        agreement_url=_matching(_URL, fields, "agreementUrl") if fields.get("agreementUrl") else None,
    )


def account_of(found: Any) -> ProviderAccount:
    """A bank account as the provider sends it, in answers and events. Raises ProviderUnavailable."""
    fields = _fields(found)
    return ProviderAccount(
        account_id=text_of(fields, "id"),
        user_id=text_of(fields, "userId"),
        sequence=_sequence(fields),
        status=_matching(_STATUS, fields, "status"),
        reason=_reason(fields),
    )


def order_of(found: Any) -> ProviderOrder:
    """An order as the provider sends it, in answers and events. Raises ProviderUnavailable."""
    fields = _fields(found)
    return ProviderOrder(
        order_id=text_of(fields, "id"),
        user_id=text_of(fields, "userId"),
        account_id=text_of(fields, "bankAccountId"),
        sequence=_sequence(fields),
        status=_matching(_STATUS, fields, "status"),
        provider_id=text_of(fields, "providerId"),
        deposit_address=_matching(_ADDRESS, fields, "depositAddress"),
        amount=_matching(_AMOUNT, fields, "amount"),
        fee=_matching(_AMOUNT, fields, "fee"),
        reason=_reason(fields),
    )


def _own(read: Callable[[Any], R], wanted: str, found: dict[str, Any]) -> R:
    """The resource that was asked for by its id."""
    resource = read(found)
    if found["id"] != wanted:
        raise ProviderUnavailable("the answer is about another resource")
    return resource


def object_of(body: bytes) -> dict[str, Any]:
    """The JSON object that the provider sends, in answers and events. Raises ProviderUnavailable."""
    try:
        return _fields(json_of(body, _MOST_BRACKETS))
    except ValueError as error:
        raise ProviderUnavailable(f"the answer cannot be read: {error}") from None


def _fields(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ProviderUnavailable("the answer is not an object")
    return found


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """A text of 1 to _LONGEST_TEXT characters without control characters. Raises ProviderUnavailable."""
    text = fields.get(name)
    if not isinstance(text, str) or not 1 <= len(text) <= _LONGEST_TEXT or not text.isprintable():
        raise ProviderUnavailable(f"{name} is not as documented")
    return text


def _matching(pattern: re.Pattern[str], fields: Mapping[str, Any], name: str) -> str:
    text = fields.get(name)
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise ProviderUnavailable(f"{name} is not as documented")
    return text


def _sequence(fields: Mapping[str, Any]) -> int:
    number = fields.get("sequence")
    if type(number) is not int or not 1 <= number <= _LATEST_SEQUENCE:
        raise ProviderUnavailable("sequence is not as documented")
    return number


def _reason(fields: Mapping[str, Any]) -> str | None:
    """Why something failed, without control characters and cut off; None if the provider does not say."""
    text = fields.get("reason")
    if not isinstance(text, str):
        return None
    return "".join(each for each in text if each.isprintable())[:_LONGEST_TEXT] or None


def _fields_of_refusal(body: bytes) -> tuple[str, ...]:
    try:
        names = object_of(body).get("fields")
    except ProviderUnavailable:
        return ()
    if not isinstance(names, list):
        return ()
    return tuple(each for each in names[:_MOST_FIELDS] if isinstance(each, str))
