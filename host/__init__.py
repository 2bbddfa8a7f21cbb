"""The server side: graph store, sampler, NVMe driver and the host half of each system."""
