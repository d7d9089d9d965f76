"""What is known of payees before a link is created."""

from collections.abc import Sequence
from contextlib import suppress

from chalicelib.base.addresses import address_of_family
from chalicelib.base.errors import ChainUnavailable, Forbidden
from chalicelib.chains.calldata.contract_code import may_send_tokens
from chalicelib.chains.catalogue.tokens import family_of, token_with_id
from chalicelib.payments.requests.field_problems import parse_field, refuse_field
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.services import Services


def find_warnings(
    services: Services, caller: Caller, currency: str, payees: Sequence[str]
) -> list[tuple[str, str]]:
    """The payees that are contracts whose code sends no tokens on, each with a sentence.

    One request to the node of the currency's network; none on Tron, and no warnings without its answer. Raises
    ValidationFailed if `currency` is not an id, or for what is not an address of that network, and Forbidden for a
    client id alone, which is public.
    """
    if caller.mode is Mode.CLIENT_ID:
        raise Forbidden("A client id is public, so it asks nothing of payees: leave payees out, or send an API key")
    token = token_with_id(currency)
    if token is None:
        raise refuse_field(("currency",), "must be an id, such as USDC-base, if there are payees")
    family = family_of(token)
    addresses = [
        parse_field(("payees", str(position)), lambda text: address_of_family(text, family), each)
        for position, each in enumerate(payees)
    ]
    codes: Sequence[bytes] = ()
    if family == "evm":
        with suppress(ChainUnavailable):
            codes = services.chains.evm(token.network).read_codes(*addresses)
    said = f"is a contract on {token.network} whose code sends no tokens on: what is paid to it may be lost"
    return [
        (address, f"{address} {said}")
        for address, code in zip(addresses, codes, strict=False)
        if not may_send_tokens(code)
    ]
