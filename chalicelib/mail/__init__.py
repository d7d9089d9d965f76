"""E-mail: messages as they are stored, when each is sent and how often, their texts, and addresses that bounce."""
