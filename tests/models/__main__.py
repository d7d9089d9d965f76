"""Runs every search of this folder: `python -m tests.models`. Exit status 1 if one of them finds what must not be."""

import sys

import tests.conftest  # noqa: F401 - the environment that settings are read from
from tests.models import test_commerce, test_delivery, test_links, test_payment_intents, test_recurring

SEARCHES = (
    test_commerce.test_the_books_are_the_escrows_and_each_operation_ends_once_in_every_order_of_events,
    test_delivery.test_a_delivery_ends_once_and_none_is_forgotten_in_every_order_of_messages_and_workers,
    test_links.test_totals_statuses_and_events_are_those_of_the_chain_in_every_order,
    test_payment_intents.test_the_tokens_are_taken_once_and_leave_once_in_every_order_of_workers_calls_and_forks,
    test_recurring.test_each_period_is_paid_once_in_every_order_of_calls_blocks_forks_and_cancellations,
)


def main() -> int:
    for search in SEARCHES:
        try:
            search()
        except AssertionError as error:
            print(f"breaks invariants: {search.__name__}: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
