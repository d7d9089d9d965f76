"""What packages of others say about chains, tokens and contracts: asked once for all tests of this room."""

from typing import Any

import pytest

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from tests.oracles.node import run


@pytest.fixture(scope="session")
def sources() -> dict[str, Any]:
    """What oracles/constants.js finds in the npm packages."""
    found: dict[str, Any] = run("constants.js", [(each.name, each.chain_id) for each in ALL_NETWORKS])
    return found
