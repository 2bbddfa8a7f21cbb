"""Systems: what is compared, put together from host, firmware, links and RTL."""
