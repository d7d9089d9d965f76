"""The journal: double entries of payments, refunds and payouts, as they are found."""
