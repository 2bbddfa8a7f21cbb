"""Parts of the bus checker, a family of rules each; simulation only."""
