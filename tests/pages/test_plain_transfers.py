"""The address for a payment from an exchange: shown as the link says, and not where they disagree."""

from dataclasses import replace

import pytest

from infra.local.scenes import LINK, SCENES
from infra.local.screens import Stage

_OWN = SCENES["exchange"].link[1]["plainTransfer"]  # type: ignore[index]
ARRIVED = replace(SCENES["exchange"], link=(200, {**LINK, "plainTransfer": {**_OWN, "arrivedAmount": "12"}}), press=())

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


def test_what_arrived_is_said_beside_the_payment_and_not_to_be_sent_again(stage: Stage) -> None:
    with stage.show_scene(ARRIVED) as page:
        page.locator("#arrived").wait_for()
        text = page.locator("#arrived").inner_text().replace("\u00a0", " ")
        assert text == "12 fUSDC arrived at the address. It counts once it is paid out to the payee: do not send it again."
        page.locator("#language").select_option("de")
        page.get_by_text("12 fUSDC sind an der Adresse angekommen").wait_for()
        assert page.locator("#arrived").count() == 1


@pytest.mark.parametrize("wrong", [{"network": "base"}, {"tokenAddress": "0x" + "11" * 20}, {"arrivedAmount": "0"}, {"arrivedAmount": "x"}])
def test_nothing_is_said_of_another_token_or_network_or_if_nothing_arrived(stage: Stage, wrong: dict[str, object]) -> None:
    own = {**ARRIVED.link[1]["plainTransfer"], **wrong}  # type: ignore[index]
    scene = replace(ARRIVED, link=(200, {**LINK, "plainTransfer": own}), press=("#manual summary",))
    with stage.show_scene(scene) as page:
        page.locator("#manual-body ol").wait_for()
        assert page.locator("#arrived").count() == 0
