// Fetches the missing tiles of the chart's current view, a few at once.

import type { ChartTile } from '../../api/types';
import { type TileId, tileQuestion } from '../timeline/tiles';
import type { Viewport } from '../timeline/viewport';
import type { ChartTiles } from './chart';

const AT_ONCE = 4;

export class ChartLoader {
  private readonly underway = new Map<string, AbortController>();
  constructor(
    private readonly tiles: ChartTiles,
    private readonly ticks: number,
    private readonly fetchTile: (
      question: { from: number; to: number; width: number },
      signal: AbortSignal,
    ) => Promise<ChartTile>,
    /** Called when a tile has arrived or its request ended: with `null`, or with the error. */
    private readonly arrived: (error: unknown) => void,
  ) {}

  /** Requests the tiles that the view lacks, and aborts requests that it does not need. */
  want(view: Viewport, width: number): void {
    if (width <= 0) return;
    const wanted = this.tiles.wanted(view, width).filter((tile) => !this.tiles.has(tile));
    const names = new Set(wanted.map(name));
    for (const [known, abort] of this.underway) if (!names.has(known)) abort.abort();
    for (const tile of wanted) {
      if (this.underway.size >= AT_ONCE) break;
      if (!this.underway.has(name(tile))) void this.ask(tile);
    }
  }

  stop(): void {
    for (const abort of this.underway.values()) abort.abort();
  }

  private async ask(tile: TileId): Promise<void> {
    const abort = new AbortController();
    this.underway.set(name(tile), abort);
    let failed: unknown = null;
    try {
      this.tiles.add(tile, await this.fetchTile(tileQuestion(tile, this.ticks), abort.signal));
    } catch (error) {
      if (!abort.signal.aborted) failed = error;
    }
    this.underway.delete(name(tile));
    this.arrived(failed);
  }
}

function name({ level, index }: TileId): string {
  return `${level}/${index}`;
}
