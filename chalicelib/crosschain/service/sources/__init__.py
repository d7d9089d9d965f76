"""From which networks and tokens a payer can pay."""
