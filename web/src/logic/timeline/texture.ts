// Columns as pixels: a band is a few rows of a picture as wide as the screen, which is then stretched to the band's
// height. So a frame costs what its columns cost, however many events there are.

import { type Palette, STATES, type State } from '../../base/palette';
import { type Columns, NO_STATE } from './columns';

/** Rows of a band's picture: the state, then the samples. */
export const STATE_ROWS = 6;
export const TEXTURE_ROWS = STATE_ROWS + 1;

/** Colours as the pixels of an ImageData hold them. */
export interface Inks {
  plain: Uint32Array;
  /** Stripes over columns in which many events lie. */
  many: Uint32Array;
  /** Stripes of states that are drawn hatched; the same as `plain` for the others. */
  hatch: Uint32Array;
  /** Samples: few to many. */
  ticks: Uint32Array;
}

const HATCHED: readonly State[] = ['spin', 'overhead'];
/** How much of a state that is switched off is left. */
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

/** Draws a band's columns into the rows of `pixels` that begin at `top`. Stripes lean one way for "many", the other for
 * hatched states, so that they are told apart without colour. */
export function fillTexture(pixels: Uint32Array, top: number, columns: Columns, inks: Inks): void {
  const { width, state, many, samples } = columns;
  for (let row = 0; row < STATE_ROWS; row += 1) {
    const start = (top + row) * width;
    for (let column = 0; column < width; column += 1) {
      const at = state[column] ?? NO_STATE;
      const leans = many[column] === 1 ? column + 2 * row : column - 2 * row;
      const striped = (leans & 7) < 4;
      pixels[start + column] = at === NO_STATE ? 0 : stateInk(inks, at, many[column] === 1, striped);
    }
  }
  const start = (top + STATE_ROWS) * width;
  for (let column = 0; column < width; column += 1) {
    pixels[start + column] = tickInk(samples[column] ?? 0, inks.ticks);
  }
}

function stateInk({ plain, many, hatch }: Inks, state: number, isMany: boolean, striped: boolean): number {
  if (!striped) return plain[state] ?? 0;
  return (isMany ? many[state] : hatch[state]) ?? 0;
}

function tickInk(density: number, ticks: Uint32Array): number {
  if (density === 0) return 0;
  return ticks[density < 2 ? 0 : density < 4 ? 1 : density < 16 ? 2 : 3] ?? 0;
}

type Rgb = readonly [number, number, number];

/** `#rrggbb`; null for what is not drawn. */
function rgb(color: string): Rgb | null {
  const [, r, g, b] = /^#(..)(..)(..)$/.exec(color) ?? [];
  return r && g && b ? [Number.parseInt(r, 16), Number.parseInt(g, 16), Number.parseInt(b, 16)] : null;
}

function mix(a: Rgb | null, b: Rgb | null, share: number): Rgb | null {
  if (!a || !b) return a ?? b;
  const part = (at: 0 | 1 | 2) => Math.round(a[at] * (1 - share) + b[at] * share);
  return [part(0), part(1), part(2)];
}

/** Bytes red, green, blue, opaque in memory, on the little-endian machines that browsers run on. */
function pixel(color: Rgb | null): number {
  return color ? ((255 << 24) | (color[2] << 16) | (color[1] << 8) | color[0]) >>> 0 : 0;
}
