"""The frame of every page: discovery of pages, state in the link, menus and keys, errors and notices."""
