"""The deployment of tests/checkout/crosschain, which serves the six chains of the bridge."""

from tests.checkout.crosschain.conftest import world as world
