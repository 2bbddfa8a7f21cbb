"""The SSD's embedded cores: NVMe front end, ISP control, flash scheduling, subgraph generation."""
