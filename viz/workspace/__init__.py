"""The pages for free work, one module each; the file name is the address."""
