"""Kernel and engines, configuration, systems, results, reports and the command line."""
