"""Flash-channel controller, and the simulation-only NAND die and bus checker it is judged by."""
