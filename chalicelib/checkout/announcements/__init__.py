"""Announced transactions: announced multisig transactions that pay a link."""
