"""When a gasless payment that was made has ended, so that its request may be paid again if something of it is left."""

import pytest

from chalicelib.gasless.records import Stage
from chalicelib.payments.requests.records import RequestStatus
from tests.fakes.gasless import Gasless


def minutes(gasless: Gasless, number: int) -> None:
    for _ in range(number):
        gasless.world.advance(60)
        gasless.run()
        gasless.world.scan()


@pytest.mark.parametrize("withheld", [0, 3])
def test_a_request_is_locked_until_its_payment_is_recorded_though_a_node_withholds_the_event(withheld: int) -> None:
    gasless = Gasless()
    made = gasless.accept(gasless.offer())
    gasless.chain.hides_logs = withheld > 0
    minutes(gasless, 4 + withheld)
    gasless.chain.hides_logs = False
    assert gasless.state.made["paid"] == 1
    request = gasless.loaded()
    assert request.is_executed is (withheld > 0) is (request.status is not RequestStatus.PAID)
    minutes(gasless, 14 if withheld else 1)
    assert (gasless.loaded().status, gasless.loaded().is_executed) == (RequestStatus.PAID, False)
    assert gasless.load(made).stage is Stage.PAID


def test_a_request_is_locked_no_longer_than_until_the_block_of_its_payment_was_read_again() -> None:
    gasless = Gasless()
    made = gasless.accept(gasless.offer())
    gasless.chain.hides_logs = True
    minutes(gasless, 8)
    assert gasless.loaded().is_executed
    minutes(gasless, 10)
    assert not gasless.loaded().is_executed and gasless.load(made).stage is Stage.PAID
