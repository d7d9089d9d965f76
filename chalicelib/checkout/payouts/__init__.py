"""Payouts without a link: requests that are created and paid by one call, one or many in a batch."""
