// Reads the binary tile of the timeline, laid out as `TileHeader` in types.ts describes: header, then each band's arrays.

import type { TileHeader } from './types';

/** One band's part of a tile, as views into the received buffer. Times in ns since the start. */
export interface TileBand {
  id: number;
  start: Float64Array;
  end: Float64Array;
  /** Index of the object waited on; 0xffffffff: none. */
  object: Uint32Array;
  /** Index into `TileHeader.states`. */
  state: Uint8Array;
  /** Bit 0: merged from several; bit 1: clipped. */
  flags: Uint8Array;
  sampleTime: Float64Array;
  sampleDensity: Uint8Array;
}

export interface Tile {
  header: TileHeader;
  bands: TileBand[];
}

/** Reads a tile; throws when the buffer is shorter than its header announces. */
export function decodeTile(buffer: ArrayBuffer): Tile {
  const view = new DataView(buffer);
  const headerBytes = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerBytes))) as TileHeader;
  let at = aligned(4 + headerBytes);
  const bands = header.bands.map(({ id, segments, samples }): TileBand => {
    const start = new Float64Array(buffer, at, segments);
    const end = new Float64Array(buffer, at + 8 * segments, segments);
    at += 16 * segments;
    const object = new Uint32Array(buffer, at, segments);
    at += 4 * segments;
    const state = new Uint8Array(buffer, at, segments);
    const flags = new Uint8Array(buffer, at + segments, segments);
    at = aligned(at + 2 * segments);
    const sampleTime = new Float64Array(buffer, at, samples);
    at += 8 * samples;
    const sampleDensity = new Uint8Array(buffer, at, samples);
    at = aligned(at + samples);
    return { id, start, end, object, state, flags, sampleTime, sampleDensity };
  });
  return { header, bands };
}

function aligned(offset: number): number {
  return (offset + 7) & ~7;
}
