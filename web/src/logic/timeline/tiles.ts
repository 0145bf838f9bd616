// Which tiles a viewport needs, and the ones that are in memory. A tile is a fixed piece of time at a level: at level k
// a pixel of it is 2^k ns, so that tiles are asked for again and again by the same names whatever way one came. A band in
// which nothing was merged holds every event of its time and serves all closer looks, too.

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

/** The coarsest level whose pixels are not larger than the screen's; never finer than a ns. */
export function levelFor(nsPerPx: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(nsPerPx, 1)) + 1e-9));
}

/** The level at which one tile holds the whole collection. */
export function topLevel(elapsedNs: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(elapsedNs, 1) / TILE_PX)));
}

/** The time of a tile, ns; not cut at the end of the collection. */
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

/** What the server is asked for a tile: whole ns and whole px, cut at the end of the collection. */
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

/** One number for a tile: there are fewer than 64 levels, and indices stay far below 2^47. */
const nameOf = (level: number, index: number) => index * 64 + level;

/** Tiles in memory, of one selection and kind of bands; the least recently used go when there are too many bytes. */
export class TileMemory {
  private readonly kept = new Map<number, Kept>();
  private bytes = 0;
  /** Numbers of the tiles' states in STATES. */
  states: Uint8Array = stateNumbers([]);

  constructor(
    private readonly top: number,
    /** Whether events of a band have their own ends when none are merged: not where threads share a band. */
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

  /** Whether the band needs not be asked for in this tile. */
  has(id: TileId, band: number): boolean {
    return this.own(id, band) !== null || this.exactAbove(id, band) !== null;
  }

  /** What there is to draw a band over a viewport with, in order of time: the tiles of the level where they have come,
   * meanwhile closer ones, or else the closest coarser one. */
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
      // The tile of everything is what is drawn while others come: it stays.
      if (tile.level >= this.top) continue;
      this.kept.delete(name);
      this.bytes -= bytes;
    }
  }
}

/** Whether every event and every sample of a band is there by itself. */
function isExact({ flags, sampleDensity }: TileBand): boolean {
  return flags.every((flag) => (flag & FLAG_MANY) === 0) && sampleDensity.every((density) => density <= 1);
}

/** Bands to ask for in one tile. */
export interface Request {
  tile: TileId;
  bands: number[];
  /** Nothing of it is seen yet: nobody waits for it. */
  ahead: boolean;
}

export interface Sight {
  view: Viewport;
  level: number;
  elapsedNs: number;
  /** Ids of the bands that are seen, then of those near. */
  bands: readonly number[];
  nearBands: readonly number[];
  /** What is asked for ahead of being seen: the neighbours in time while the view is panned, the bands around when all
   * else has come. */
  ahead: 'nothing' | 'beside' | 'all';
}

/** What is missing for a sight, in the order in which it helps: the tile of everything, what is seen from its middle
 * outwards, then the neighbours on both sides and the bands above and below. */
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
