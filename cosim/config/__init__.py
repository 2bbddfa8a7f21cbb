"""Typed configuration: units, YAML with places, platforms, systems, engine and run."""
