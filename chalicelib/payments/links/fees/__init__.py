"""Platform fees: the fee of a link, and fee previews."""
