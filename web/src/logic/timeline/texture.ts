// Columns as pixels: a band is a few rows of a picture as wide as the screen, which the canvas stretches to the band's
// height. So a frame costs as much as its columns, however many events it shows.

import { type Palette, STATES, type State } from '../../base/palette';
import { type Columns, NO_STATE } from './columns';
import { mix, pixel, type Rgb, rgb } from './ink';

/** Rows of a band's picture: the state, then the samples. */
export const STATE_ROWS = 6;
export const TEXTURE_ROWS = STATE_ROWS + 1;

/** Colours as the pixels of an ImageData hold them. */
export interface Inks {
  plain: Uint32Array;
  /** Stripes over columns with many events. */
  many: Uint32Array;
  /** Stripes of hatched states; the same as `plain` for the others. */
  hatch: Uint32Array;
  /** Samples: few to many. */
  ticks: Uint32Array;
}

const HATCHED: readonly State[] = ['spin', 'overhead', 'paused'];
/** The opacity of a state that the legend switched off. */
const QUIET = 0.12;

export function inksOf({ ground, state }: Palette, off: readonly string[]): Inks {
  const base = rgb(ground.ground);
  const colors = STATES.map((name) => {
    const color = rgb(state[name]);
    return color && off.includes(name) ? mix(base, color, QUIET) : color;
  });
  const text = rgb(ground.text);
  const stripes = (towards: Rgb | null, share: number) => (color: Rgb | null) =>
    pixel(color && mix(color, towards, share));
  const many = colors.map((color, at) => stripes(text, off.includes(STATES[at] ?? '') ? 0.04 : 0.32)(color));
  const hatch = colors.map((color, at) => {
    return HATCHED.includes(STATES[at] ?? 'absent') ? stripes(base, 0.55)(color) : pixel(color);
  });
  const ticks = off.includes('samples')
    ? [0, 0, 0, 0]
    : [0.4, 0.6, 0.8, 1].map((share) => pixel(mix(base, text, share)));
  return {
    plain: Uint32Array.from(colors, pixel),
    many: Uint32Array.from(many),
    hatch: Uint32Array.from(hatch),
    ticks: Uint32Array.from(ticks),
  };
}

/** Draws a band's columns into the rows of `pixels` from `top` on. Stripes lean one way for "many", the other for hatched
 * states: both are distinct without colour. */
export function fillTexture(pixels: Uint32Array, top: number, columns: Columns, inks: Inks): void {
  const { width, state, samples } = columns;
  const first = top * width;
  for (let column = 0; column < width; column += 1) {
    const at = state[column] ?? NO_STATE;
    pixels[first + column] = at === NO_STATE ? 0 : (inks.plain[at] ?? 0);
  }
  // Most columns are plain: their rows are copies of one row, and only striped rows need drawing.
  for (let row = 1; row < STATE_ROWS; row += 1) pixels.copyWithin(first + row * width, first, first + width);
  fillStripes(pixels, first, columns, inks);
  const ticks = (top + STATE_ROWS) * width;
  for (let column = 0; column < width; column += 1) {
    const density = samples[column] ?? 0;
    pixels[ticks + column] = density === 0 ? 0 : tickInk(density, inks.ticks);
  }
}

function fillStripes(pixels: Uint32Array, first: number, { width, state, many }: Columns, inks: Inks): void {
  for (let column = 0; column < width; column += 1) {
    const at = state[column] ?? NO_STATE;
    if (at === NO_STATE) continue;
    const isMany = many[column] === 1;
    const ink = (isMany ? inks.many[at] : inks.hatch[at]) ?? 0;
    if (ink !== inks.plain[at]) stripe(pixels, first + column, width, ink, isMany ? 2 : -2, column);
  }
}

/** The striped rows of one column; `lean` px to the side from row to row. */
function stripe(pixels: Uint32Array, first: number, width: number, ink: number, lean: number, column: number): void {
  for (let row = 0; row < STATE_ROWS; row += 1) {
    if (((column + lean * row) & 7) < 4) pixels[first + row * width] = ink;
  }
}

function tickInk(density: number, ticks: Uint32Array): number {
  return ticks[density < 2 ? 0 : density < 4 ? 1 : density < 16 ? 2 : 3] ?? 0;
}
