"""With two or three nodes of a network, of which one lies at will, and of three perhaps one is silent, nothing comes of
any product that would not have come of it with honest nodes alone; and all of that comes once nobody lies any more.

Each history is run twice, with honest nodes alone and with a liar among them, and compared from minute to minute.
"""

from random import Random
from typing import Any

import pytest

from tests.fakes.lying_at_will import AtWill
from tests.fakes.lying_node import Silent, served
from tests.simulation.lied_to import PRODUCTS
from tests.simulation.product import Fact, Product
from tests.support.rehearsed import parts

PER_PART, PARTS = 20, 250
HONEST, LYING, AFTERWARDS = 30, 8, 40
"""Minutes."""


def serve(product: Product, random: Random) -> tuple[list[AtWill], list[Silent]]:
    """From now on each network has two or three nodes, one of which may lie; of three, one may be silent."""
    liars, lost = list[AtWill](), list[Silent]()
    for chain in product.chains:
        liars.append(AtWill(chain, random))
        nodes: list[Any] = [liars[-1], chain]
        if random.random() < 0.5:
            lost += [Silent(chain)] if random.random() < 0.5 else []
            nodes.append(lost[-1] if lost and lost[-1].chain is chain else chain)
        random.shuffle(nodes)
        product.world.services = served(product.world.services, chain.network, *nodes)
    return liars, lost


def honest(name: str, seed: int) -> list[set[Fact]]:
    """What is so in each minute with honest nodes alone."""
    product = PRODUCTS[name](Random(seed))
    return [product.minute() for _ in range(HONEST)]


def lied_to(name: str, seed: int) -> None:
    true, random = honest(name, seed), Random(seed)
    product = PRODUCTS[name](random)
    liars, lost = serve(product, random)
    begins = random.randrange(4)
    ends, facts = begins + random.randrange(1, LYING), set[Fact]()
    for minute in range(ends + AFTERWARDS):
        for liar in liars:
            if begins <= minute < ends:
                liar.lie()
            else:
                liar.stop()
        for node in lost if product.needs_every_node else ():
            node.is_down = minute < ends
        before, facts = facts, product.minute()
        invented, undone = facts.difference(*true[: minute + 1]), (before & true[-1]) - facts
        assert not invented and not undone, f"minute {minute}: {invented} by lies, {undone} undone"
        if minute >= ends and facts == true[-1]:
            return
    raise AssertionError(f"{true[-1] - facts} is held though nobody lies")


@pytest.mark.parametrize("part", parts(PARTS))
def test_one_node_that_lies_at_will_adds_nothing_to_any_product_and_keeps_nothing_from_it_for_good(part: int) -> None:
    for number in range(part * PER_PART, (part + 1) * PER_PART):
        seed, place = divmod(number, len(PRODUCTS))
        name = list(PRODUCTS)[place]
        try:
            lied_to(name, seed)
        except AssertionError as error:
            raise AssertionError(f"{name}, seed {seed}: {error}") from error
