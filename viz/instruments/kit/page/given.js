// What Python puts in when the kit is joined (mount.py): the colours of viz/theme.py, the sheets of the kit, the page that stands alone.

export const PALETTES = "%%PALETTES%%";
export const CSS = "%%CSS%%";
export const PAGE = "%%PAGE%%";
