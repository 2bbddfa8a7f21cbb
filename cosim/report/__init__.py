"""Reports of a run: plot, page and table, all made from its summary."""
