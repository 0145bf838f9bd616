// The tiles that a viewport needs, and those in memory. A tile is a fixed piece of time at a level: a pixel of level k is
// 2^k ns. So every way to a view needs tiles with the same names. A band without merged events holds every event of its
// time, and serves all finer levels, too.

import type { Tile, TileBand } from '../../api/tile';
import type { Part } from './columns';
import { FLAG_MANY, stateNumbers } from './columns';
import type { Viewport } from './viewport';

export const TILE_PX = 1024;
const MEMORY_BYTES = 96 << 20;

export interface TileId {
  level: number;
  index: number;
}

/** The coarsest level whose pixels are at most as long as the screen's; never finer than 1 ns. */
export function levelFor(nsPerPx: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(nsPerPx, 1)) + 1e-9));
}

/** The finest level at which one tile holds the whole collection. */
export function topLevel(elapsedNs: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(elapsedNs, 1) / TILE_PX)));
}

/** The time of a tile, ns; may exceed the end of the collection. */
export function tileTime({ level, index }: TileId): Viewport {
  const length = TILE_PX * 2 ** level;
  return { from: index * length, to: (index + 1) * length };
}

/** The tiles of a level that cover a viewport, from left to right. */
export function tilesOver(view: Viewport, level: number, elapsedNs: number): TileId[] {
  const length = TILE_PX * 2 ** level;
  const first = Math.max(0, Math.floor(view.from / length));
  const end = Math.max(first + 1, Math.ceil(Math.min(view.to, elapsedNs) / length));
  return Array.from({ length: end - first }, (_, at) => ({ level, index: first + at }));
}

/** The request for a tile: whole ns and whole px, cut at the end of the collection. */
export function tileQuestion(tile: TileId, elapsedNs: number): { from: number; to: number; width: number } {
  const { from, to } = tileTime(tile);
  const end = Math.max(from + 1, Math.min(to, Math.ceil(elapsedNs)));
  return { from, to: end, width: Math.max(1, Math.ceil((end - from) / 2 ** tile.level)) };
}

interface Kept {
  tile: TileId;
  bands: Map<number, KeptBand>;
  bytes: number;
}

interface KeptBand {
  data: TileBand;
  exact: boolean;
}

/** A tile's level and index as one number: levels are below 64, indices far below 2^47. */
const nameOf = (level: number, index: number) => index * 64 + level;

/** Tiles in memory, of one selection and kind of bands; drops the least recently used ones above a limit of bytes. */
export class TileMemory {
  private readonly kept = new Map<number, Kept>();
  private bytes = 0;
  /** Numbers of the tiles' states in STATES. */
  states: Uint8Array = stateNumbers([]);

  constructor(
    private readonly top: number,
    /** Whether unmerged events of a band have exact ends; false where threads share a band. */
    private readonly ownEnds: boolean,
    private readonly limit = MEMORY_BYTES,
  ) {}

  get size(): number {
    return this.bytes;
  }

  add(id: TileId, { header, bands }: Tile): void {
    this.states = stateNumbers(header.states);
    const name = nameOf(id.level, id.index);
    const kept = this.kept.get(name) ?? { tile: id, bands: new Map<number, KeptBand>(), bytes: 0 };
    for (const data of bands) {
      const bytes = data.start.length * 22 + data.sampleTime.length * 9 + 200;
      if (!kept.bands.has(data.id)) {
        kept.bytes += bytes;
        this.bytes += bytes;
      }
      kept.bands.set(data.id, { data, exact: this.ownEnds && isExact(data) });
    }
    this.kept.delete(name);
    this.kept.set(name, kept);
    this.shrink();
  }

  /** Whether this tile needs no request for the band. */
  has(id: TileId, band: number): boolean {
    return this.own(id, band) !== null || this.exactAbove(id, band) !== null;
  }

  /** The parts to draw a band with over a viewport, in order of time: tiles of the level that have arrived, else finer ones,
   * else the closest coarser one. */
  parts(view: Viewport, level: number, elapsedNs: number, band: number): Part[] {
    const parts: Part[] = [];
    for (const tile of tilesOver(view, level, elapsedNs)) this.cover(tile, band, 2, parts);
    return parts;
  }

  /** Marks tiles as used. */
  touch(tiles: readonly TileId[]): void {
    for (const { level, index } of tiles) {
      const name = nameOf(level, index);
      const kept = this.kept.get(name);
      if (!kept) continue;
      this.kept.delete(name);
      this.kept.set(name, kept);
    }
  }

  private cover(tile: TileId, band: number, closer: number, parts: Part[]): void {
    const own = this.own(tile, band) ?? this.exactAbove(tile, band);
    const time = tileTime(tile);
    if (own) {
      parts.push({ data: own.data, ...time });
      return;
    }
    if (closer > 0 && tile.level > 0 && this.anyCloser(tile, band, closer)) {
      this.cover({ level: tile.level - 1, index: 2 * tile.index }, band, closer - 1, parts);
      this.cover({ level: tile.level - 1, index: 2 * tile.index + 1 }, band, closer - 1, parts);
      return;
    }
    const above = this.above(tile, band);
    if (above) parts.push({ data: above.data, ...time });
  }

  private anyCloser({ level, index }: TileId, band: number, depth: number): boolean {
    if (depth === 0 || level === 0) return false;
    return [2 * index, 2 * index + 1].some((half) => {
      const tile = { level: level - 1, index: half };
      return this.own(tile, band) !== null || this.anyCloser(tile, band, depth - 1);
    });
  }

  private own({ level, index }: TileId, band: number): KeptBand | null {
    return this.kept.get(nameOf(level, index))?.bands.get(band) ?? null;
  }

  private exactAbove(tile: TileId, band: number): KeptBand | null {
    return this.above(tile, band, (kept) => kept.exact);
  }

  private above({ level, index }: TileId, band: number, fits = (_: KeptBand) => true): KeptBand | null {
    for (let up = 1; level + up <= this.top; up += 1) {
      const kept = this.own({ level: level + up, index: Math.floor(index / 2 ** up) }, band);
      if (kept && fits(kept)) return kept;
    }
    return null;
  }

  private shrink(): void {
    for (const [name, { tile, bytes }] of this.kept) {
      if (this.bytes <= this.limit) return;
      // The tile of the whole collection stays: it fills the gaps until others arrive.
      if (tile.level >= this.top) continue;
      this.kept.delete(name);
      this.bytes -= bytes;
    }
  }
}

/** Whether nothing was merged: every event and every sample of a band is separate. */
function isExact({ flags, sampleDensity }: TileBand): boolean {
  return flags.every((flag) => (flag & FLAG_MANY) === 0) && sampleDensity.every((density) => density <= 1);
}

/** The bands to request in one tile. */
export interface Request {
  tile: TileId;
  bands: number[];
  /** Nothing of it is visible yet, so the page does not wait for it. */
  ahead: boolean;
}

export interface Sight {
  view: Viewport;
  level: number;
  elapsedNs: number;
  /** Ids of the visible bands, then of those near them. */
  bands: readonly number[];
  nearBands: readonly number[];
  /** What to request ahead: the neighbours in time during a pan, the bands around when everything visible has arrived. */
  ahead: 'nothing' | 'beside' | 'all';
}

/** The missing tiles, the most useful first: the whole collection, the visible time from its middle outwards, then the
 * neighbours on both sides and the bands above and below. */
export function missingTiles(memory: TileMemory, sight: Sight, top: number): Request[] {
  const { view, level, elapsedNs, bands, nearBands } = sight;
  const seen = tilesOver(view, level, elapsedNs);
  const middle = (view.from + view.to) / 2;
  const distance = (tile: TileId) => Math.abs((tileTime(tile).from + tileTime(tile).to) / 2 - middle);
  const whole: TileId = { level: top, index: 0 };
  const request = (tile: TileId, ids: readonly number[], ahead: boolean): Request => ({
    tile,
    bands: ids.filter((band) => !memory.has(tile, band)),
    ahead,
  });
  const requests = [whole, ...seen.sort((a, b) => distance(a) - distance(b))].map((tile) =>
    request(tile, bands, false),
  );
  if (sight.ahead !== 'nothing') {
    requests.push(...neighbours(seen, elapsedNs).map((tile) => request(tile, bands, true)));
  }
  if (sight.ahead === 'all') requests.push(...[whole, ...seen].map((tile) => request(tile, nearBands, true)));
  return requests.filter((one) => one.bands.length > 0);
}

function neighbours(seen: readonly TileId[], elapsedNs: number): TileId[] {
  const level = seen[0]?.level ?? 0;
  const indices = seen.map(({ index }) => index);
  const beside = [Math.max(...indices) + 1, Math.min(...indices) - 1].map((index) => ({ level, index }));
  return beside.filter(({ index }) => index >= 0 && tileTime({ level, index }).from < elapsedNs);
}
