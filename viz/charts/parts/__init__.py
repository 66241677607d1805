"""What figures are made of: panels, keys, and the memory that keeps a drawn one."""
