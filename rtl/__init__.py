"""Hardware of the computational storage device, in Amaranth."""
