"""Conformance of a block that takes the place of ours: cases, and what plays them."""
