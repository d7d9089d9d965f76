"""Conversion by the contracts: payments of an amount in another currency, their rates, and the feeds behind these."""
