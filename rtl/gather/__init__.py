"""Neighbour-gather unit, and the simulation-only DRAM it reads from."""
