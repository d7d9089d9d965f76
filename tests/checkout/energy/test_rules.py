"""What a wallet on Tron lacks for a payment, and for which payments that is delegated."""

from dataclasses import replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import AccountResources
from chalicelib.checkout.energy import rules
from chalicelib.checkout.resources.rules import Problem, ResourceQuote
from chalicelib.payments.links.records import Link, PaymentType
from infra.local.scenes_energy import quote_for
from tests.fakes.world import World

NOTHING = AccountResources(is_active=True, free_bandwidth=600)
ENERGY, BANDWIDTH = 267_141, 885
"""What the approval and the payment of the scenes take."""


@pytest.fixture
def link() -> Link:
    return replace(World().create_link().link, has_known_payees=True)


@pytest.mark.parametrize(
    ("account", "lacking"),
    [
        (NOTHING, (ENERGY, BANDWIDTH)),
        (replace(NOTHING, energy=67_141, bandwidth=85), (200_000, 800)),
        (replace(NOTHING, energy=10**6), (0, BANDWIDTH)),
        (replace(NOTHING, bandwidth=BANDWIDTH), (ENERGY, 0)),
        (replace(NOTHING, bandwidth=540), (ENERGY, 0)),
        (replace(NOTHING, free_bandwidth=1_000), (ENERGY, 0)),
    ],
)
def test_a_wallet_lacks_the_energy_that_it_has_not_and_bandwidth_only_if_it_would_burn_for_it(
    link: Link, account: AccountResources, lacking: tuple[int, int]
) -> None:
    wish = rules.wish_of(link, "wallet", quote_for(0, account))
    assert (wish.energy, wish.bandwidth) == lacking
    assert (wish.wallet, wish.account_id, wish.link_token) == ("wallet", link.account_id, link.token)


def test_it_is_delegated_for_a_lack_of_trx_alone(link: Link) -> None:
    quote = quote_for(0, NOTHING)
    assert rules.why_not(link, quote) is None
    refused: list[tuple[Link, ResourceQuote, str]] = [
        (replace(link, has_known_payees=False), quote, "allowedPayees"),
        (replace(link, payment_type=PaymentType.MULTICALL), quote, "one payment or a batch"),
        (link, quote_for(50, NOTHING), "can pay this link as it is"),
        (link, quote_for(0, AccountResources(is_active=False)), "does not exist yet"),
        (link, quote_for(0, NOTHING, 9_000_000), "fee limit"),
        (link, quote_for(0, NOTHING, None), "has the tokens"),
        (link, quote_for(0, NOTHING, 400_000), "takes more than is delegated for one"),
    ]
    for of_link, of_quote, reason in refused:
        assert reason in (rules.why_not(of_link, of_quote) or ""), reason
    assert rules.why_not(replace(link, payment_type=PaymentType.BATCH), quote) is None
    assert quote.problem is Problem.TOO_LITTLE_TRX and quote.missing > BaseUnits(0)
