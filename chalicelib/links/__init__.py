"""Hosted links over requests: single, batch, payouts, multicalls."""
