"""Stimulus and expectation, free of any simulator."""
