"""The flash translation layer: where pages lie, and what becomes of the places they leave."""
