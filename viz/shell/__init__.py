"""What stands around every page: finding pages, state in the link, menus and keys, errors and notices."""
