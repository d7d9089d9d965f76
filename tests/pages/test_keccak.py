"""The page's hash is the one that contracts and the service compute, whatever the length."""

from pathlib import Path
from random import Random

from chalicelib.base.keccak import keccak256
from tests.oracles.node import run

DRIVER = str(Path(__file__).parent / "keccak_driver.js")


def test_texts_of_every_length_have_the_hash_that_the_service_computes() -> None:
    draw = Random(0)
    texts = [draw.randbytes(length) for length in range(420)]
    assert run(DRIVER, [each.hex() for each in texts]) == [keccak256(each).hex() for each in texts]
