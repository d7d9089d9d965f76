"""Payout multicalls: payouts that one payer pays together."""
