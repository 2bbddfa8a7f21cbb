"""Every layout, opcode, part time and seam that hardware, firmware and host share; no circuits."""
