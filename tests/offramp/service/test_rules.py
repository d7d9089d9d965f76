"""What is asked of the provider, and which choices of a bank account are refused."""

from dataclasses import replace

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.service.orders import new_order
from chalicelib.offramp.service.rules import ChosenAccount, check_unchosen, may_be_amended
from tests.fakes.requests import standalone
from tests.fakes.world import World
from tests.offramp.core.test_rules import ORDER


def test_a_request_that_is_paid_to_a_wallet_takes_a_person_and_no_bank_account() -> None:
    for chosen in (ChosenAccount(), ChosenAccount("ann")):
        check_unchosen(chosen)
    for chosen in (ChosenAccount(None, "details"), ChosenAccount("ann", "details")):
        with pytest.raises(BadRequest, match="This request is paid to a wallet"):
            check_unchosen(chosen)


def test_an_order_names_the_address_of_a_token_and_none_of_a_coin(world: World) -> None:
    for currency, address in (("ETH-mainnet", False), ("USDC-mainnet", True)):
        asked = new_order(standalone(world.services, currency=currency), "user", "details", BaseUnits(10**6))
        assert bool(asked.token_address) is address
    assert asked.token_address.startswith("0x") and asked.amount == "1"
    assert new_order(standalone(world.services, currency="ETH-mainnet"), "u", "d", BaseUnits(1)).token_address == ""


def test_an_amount_can_be_changed_until_the_provider_sends_or_has_ended() -> None:
    fixed = {"sending_fiat", "fiat_sent", "bounced", "failed", "cancelled", "refunded"}
    for status in OrderStatus:
        assert may_be_amended(replace(ORDER, status=status)) is (status.value not in fixed), status
