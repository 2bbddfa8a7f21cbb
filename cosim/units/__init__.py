"""Kernel-side ports of the RTL units: words and memories become SimPy events, spans and bytes."""
