"""Payments to bank accounts: orders of the provider, and the people who are paid."""
