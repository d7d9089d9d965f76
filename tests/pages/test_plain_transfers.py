"""The address for a payment from an exchange: shown as the link says, and not where they disagree."""

from dataclasses import replace

import pytest

from infra.local.scenes import LINK, SCENES
from infra.local.screens import Stage


def test_the_address_is_shown_with_network_token_and_what_has_to_arrive(stage: Stage) -> None:
    scene = SCENES["exchange"]
    with stage.show_scene(scene) as page:
        assert page.locator("#exchange-address").input_value() == scene.link[1]["plainTransfer"]["address"]  # type: ignore[index]
        text = page.locator("#exchange").inner_text().replace("\u00a0", " ")
        assert "Withdraw fUSDC on the network Sepolia" in text
        assert "12.625 fUSDC arrives" in text


@pytest.mark.parametrize("wrong", [{"network": "base"}, {"chainId": 1}, {"tokenAddress": "0x" + "11" * 20}, {"amount": "13"}])
def test_an_address_that_does_not_agree_with_the_link_is_not_shown(stage: Stage, wrong: dict[str, object]) -> None:
    own = {**SCENES["exchange"].link[1]["plainTransfer"], **wrong}  # type: ignore[index]
    scene = replace(SCENES["exchange"], link=(200, {**LINK, "plainTransfer": own}), press=("#manual summary",))
    with stage.show_scene(scene) as page:
        page.locator("#manual-body ol").wait_for()
        assert page.locator("#exchange").count() == 0
