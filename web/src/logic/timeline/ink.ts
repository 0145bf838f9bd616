// Colours as the pixels of an ImageData hold them.

export type Rgb = readonly [number, number, number];

/** Red, green and blue of `#rrggbb`; null for other texts, which draw nothing. */
export function rgb(color: string): Rgb | null {
  const [, r, g, b] = /^#(..)(..)(..)$/.exec(color) ?? [];
  return r && g && b ? [Number.parseInt(r, 16), Number.parseInt(g, 16), Number.parseInt(b, 16)] : null;
}

/** `a` with a `share` of `b` mixed in; if one is null, the other. */
export function mix(a: Rgb | null, b: Rgb | null, share: number): Rgb | null {
  if (!a || !b) return a ?? b;
  const part = (at: 0 | 1 | 2) => Math.round(a[at] * (1 - share) + b[at] * share);
  return [part(0), part(1), part(2)];
}

/** A pixel with the bytes red, green, blue, opaque in memory; browsers run on little-endian machines. */
export function pixel(color: Rgb | null): number {
  return color ? ((255 << 24) | (color[2] << 16) | (color[1] << 8) | color[0]) >>> 0 : 0;
}
