"""Payers: people who are paid out in fiat, their compliance status, bank accounts and personal data."""
