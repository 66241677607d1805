// Colours and dashes that tell heads apart: by the number of the head, so that a head looks the same in every view.
//
// Twelve colours a theme, found by search: at least 3.2 : 1 against the paper, and of any two the distance in OKLab (x 100;
// 2 is just noticeable) is at least 13 to normal eyes, 8.4 with simulated protanopia and deuteranopia. They are ordered
// so that neighbours, and heads with the same dash, lie further apart still. A test measures all of this again.

import { css, rgb } from "../kit/common.js";
import { PALETTES } from "../kit/page/given.js";

const DASHES = [[], [7, 3], [2, 2.5], [11, 3, 2, 3], [4, 4]];   // 5 and 12 have no common divisor: 60 heads are distinct

/** How head `number` is drawn; -1 is the only head of a picture: the accent, unbroken. */
export function headInk(theme, number) {
  const only = theme.dark ? css(theme.sequential[200]) : theme.primary, set = PALETTES[theme.dark ? "dark" : "light"].heads;
  const colour = number < 0 ? only : set[number % set.length];
  return { colour, rgb: rgb(colour), dash: number < 0 ? [] : DASHES[number % DASHES.length] };
}
