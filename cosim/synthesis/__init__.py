"""Synthesis of the RTL: what it costs on an FPGA, and how fast it runs there."""
