"""Intents: announced multisig transactions that pay a link."""
