"""The operator's emergency stop of payments."""
