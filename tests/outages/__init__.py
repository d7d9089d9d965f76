"""Whatever nodes do for a while, no link ends wrongly, no event is lost or doubled, and other networks notice nothing."""
