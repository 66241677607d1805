"""The pages for free work, a folder each; its name is the address."""
