"""Conversions by the contracts: the logs of their payments, and the rates of their price feeds, now and in the past."""
