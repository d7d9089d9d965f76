"""Who may create requests for a client id."""

from dataclasses import replace

import pytest

from chalicelib.access.callers import ClientSettings, Owner
from chalicelib.access.modes import Mode
from chalicelib.base.errors import BadRequest, Forbidden
from chalicelib.catalogue.interop import Destination
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.requests.permissions import check_creator, check_platform
from tests.fakes.world import PAYEE

OWNER = Owner("acct", "cli_a", "https://shop.example", mode=Mode.CLIENT_ID)
FUSDC = token_with_id("fUSDC-sepolia")
assert FUSDC is not None
BOUND = Destination(PAYEE, 11155111, FUSDC.address)


def test_only_the_linked_orchestrator_creates_for_its_client_id_and_at_its_destination() -> None:
    linked = ClientSettings(orchestrator_id="orc_1")
    check_platform(OWNER)
    check_creator(OWNER, None)
    for owner in (replace(OWNER, settings=linked), replace(OWNER, orchestrator_id="orc_1")):
        with pytest.raises(Forbidden, match="linked to an orchestrator"):
            check_creator(owner, BOUND)
    pair = replace(OWNER, settings=linked, orchestrator_id="orc_1")
    check_creator(pair, BOUND)
    with pytest.raises(BadRequest, match="No active payee destination"):
        check_creator(pair, None)
