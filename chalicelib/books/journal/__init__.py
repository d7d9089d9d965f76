"""The journal: double entries of payments and refunds, as they are found."""
