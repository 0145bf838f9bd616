// Colours as the pixels of an ImageData hold them.

export type Rgb = readonly [number, number, number];

/** `#rrggbb`; null for what is not drawn. */
export function rgb(color: string): Rgb | null {
  const [, r, g, b] = /^#(..)(..)(..)$/.exec(color) ?? [];
  return r && g && b ? [Number.parseInt(r, 16), Number.parseInt(g, 16), Number.parseInt(b, 16)] : null;
}

/** `a` with `share` of `b` in it; where one is nothing, the other. */
export function mix(a: Rgb | null, b: Rgb | null, share: number): Rgb | null {
  if (!a || !b) return a ?? b;
  const part = (at: 0 | 1 | 2) => Math.round(a[at] * (1 - share) + b[at] * share);
  return [part(0), part(1), part(2)];
}

/** Bytes red, green, blue, opaque in memory, on the little-endian machines that browsers run on. */
export function pixel(color: Rgb | null): number {
  return color ? ((255 << 24) | (color[2] << 16) | (color[1] << 8) | color[0]) >>> 0 : 0;
}
