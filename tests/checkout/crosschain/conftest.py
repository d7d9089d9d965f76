"""A deployment that serves the six chains of the bridge, with a payer who has tokens on each."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.chains.catalogue.bridges import source_networks
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.rules import PayOptions
from chalicelib.checkout.schemas.pay_responses import pay_answer
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.payable.rules import SourceToken
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import WALLET, World, in_process_aws

BASE_USDC = SourceToken("BASE", "USDC")


class Bridged(World):
    """The default chain is arbitrum-one, on which links of this deployment are paid."""

    def __init__(self, client: Any, **settings: Any) -> None:
        chains = FakeChains(FakeChain(), FakeChain("tron"), *(FakeChain(each.name) for each in source_networks()))
        super().__init__(client, chains, **settings)

    def on(self, network: str) -> FakeChain:
        chain: FakeChain = self.services.chains.of(network)  # type: ignore[assignment]
        return chain

    def link(self, **changes: Any) -> PayableLink:
        """A link of 12.50 USDC on arbitrum-one with a fee of 1 %."""
        return self.create_link(**{"currency": "USDC-arbitrum-one", **changes})

    def viewer(self) -> Viewer:
        return Viewer(self.account_id, None)

    def prepare(self, payable: PayableLink, source: SourceToken | None = BASE_USDC, **options: Any) -> Prepared:
        chosen = PayOptions(**{"wallet": WALLET, "source": source, **options})
        return checkout.pay(self.services, payable.link.token, self.viewer(), chosen)

    def pay(self, payable: PayableLink, source: SourceToken | None = BASE_USDC, **options: Any) -> dict[str, Any]:
        """The body of /pay."""
        made = self.prepare(payable, source, **options)
        return pay_answer(made, "hex").model_dump(exclude_unset=True, by_alias=True)


@pytest.fixture
def world() -> Iterator[Bridged]:
    with in_process_aws() as client:
        yield Bridged(client)
