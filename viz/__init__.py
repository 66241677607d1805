"""What is seen: figures, instruments, pages. Knows `core`; `core` never knows this package."""
