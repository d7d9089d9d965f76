"""What a payment on Tron takes, as the page shows it before anything is signed, and why it is refused."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from infra.local.scenes import EXACT, Scene
from infra.local.screens import SCENES, Stage

pytestmark = pytest.mark.xdist_group("scenes")
Change = Callable[[dict[str, Any]], Any]


def shown(stage: Stage, scene: Scene) -> tuple[dict[str, str], str, bool]:
    """The rows of facts, the refusal, and whether a signature is offered."""
    with stage.show_scene(scene) as page:
        rows = page.locator(".balances .row").all_inner_texts()
        refusal = page.locator(".note.bad").all_inner_texts()
        offered, again = (page.locator(each).count() == 1 for each in ("#pay", "#again"))
        assert offered is not again
        return dict(each.replace("\u00a0", " ").split("\n", 1) for each in rows), "".join(refusal).replace("\u00a0", " "), offered


def test_energy_and_bandwidth_of_each_step_stand_beside_what_the_wallet_has_and_what_is_burned(stage: Stage) -> None:
    rows, refusal, offered = shown(stage, SCENES["energy"])
    assert (refusal, offered) == ("", True)
    assert rows == {
        "Your balance": "1,842.2 USDT",
        "Network fee": "about 27.25 TRX",
        "Approving takes": "70,714 energy, 345 bandwidth",
        "Paying takes": "196,427 energy, 540 bandwidth",
        "Your wallet has": "0 energy, 600 bandwidth",
        "Burned for energy": "26.7141 TRX",
        "Burned for bandwidth": "0.54 TRX",
    }


def test_a_wallet_with_enough_of_both_burns_nothing(stage: Stage) -> None:
    rows, refusal, offered = shown(stage, SCENES["energy-staked"])
    assert (refusal, offered) == ("", True)
    assert rows["Your wallet has"] == "400,000 energy, 2,000 + 600 bandwidth"
    assert not any(name.startswith("Burned") for name in rows)


@pytest.mark.parametrize(("scene", "words"), [
    ("energy-short", "Your wallet has 2 TRX, and the network takes about 20.2141 TRX"),
    ("energy-short", "Send it at least 18.2141 TRX more"),
    ("energy-new", "This Tron account does not exist yet, so it cannot pay. Send at least 27.5991 TRX to its address"),
    ("energy-new", "costs the sender 1.1 TRX"),
    ("energy-limit", "a transaction takes more than its fee limit allows"),
    ("energy-unknown", "It is not known what the network takes"),
])
def test_what_would_burn_trx_and_fail_is_refused_in_words_before_it_is_signed(stage: Stage, scene: str, words: str) -> None:
    _, refusal, offered = shown(stage, SCENES[scene])
    assert words in refusal
    assert not offered


def test_what_is_not_known_of_the_energy_is_not_shown_as_nothing(stage: Stage) -> None:
    rows, _, _ = shown(stage, SCENES["energy-unknown"])
    assert rows["Paying takes"] == "540 bandwidth; energy not known"


def test_a_wallet_without_the_tokens_is_told_that_alone(stage: Stage) -> None:
    scene = altered("energy-unknown", lambda metadata: metadata.update(hasEnoughBalance=False, balance="1"))
    _, refusal, offered = shown(stage, scene)
    assert (refusal, offered) == ("Your wallet does not have enough to pay.", False)


def altered(name: str, change: Change) -> Scene:
    scene = SCENES[name]
    assert scene.pay
    body = copy.deepcopy(scene.pay[1])
    change(body["metadata"])
    return replace(scene, pay=(200, body))


@pytest.mark.parametrize("change", [
    lambda metadata: metadata["resources"].update(steps=None),
    lambda metadata: metadata["resources"]["steps"].pop(),
    lambda metadata: metadata["resources"]["steps"][0].update(energyBurned="-1"),
    lambda metadata: metadata["resources"]["steps"][1].update(bandwidthBurned=540_000),
    lambda metadata: metadata["resources"].update(activationPrice="many"),
    lambda metadata: metadata.pop("nativeBalance"),
], ids=["no steps", "a step too few", "less than nothing", "a number", "no price", "no balance"])
def test_figures_that_cannot_be_read_are_no_offer(stage: Stage, change: Change) -> None:
    with stage.show_scene(replace(altered("energy", change), state="trouble-odd")) as page:
        assert page.locator("#pay").count() == 0


def test_a_payment_that_may_not_be_made_by_what_the_service_says_is_not_offered_whatever_the_reason(stage: Stage) -> None:
    scene = altered("energy", lambda metadata: metadata["resources"].update(canPay=False, problem="<b>another</b>"))
    _, refusal, offered = shown(stage, scene)
    assert "It is not known what the network takes" in refusal
    assert not offered


def test_what_exactly_is_signed_is_still_there_for_a_payment_that_is_refused(stage: Stage) -> None:
    with stage.show_scene(replace(SCENES["energy-short"], press=EXACT)) as page:
        expect(page.locator(".exact").last).to_contain_text("transferFromWithReferenceAndFee")
