"""The server process: who may come in, warming up, what is sent how, and keeping small."""
