"""Readers of graph files."""
