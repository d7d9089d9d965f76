"""Commerce payments: money that is authorized in an escrow contract, then captured, voided or refunded."""
