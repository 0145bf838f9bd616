// Requests missing tiles, a few at a time, the most useful first. Drops tiles that are no longer wanted, and aborts their
// requests.

import type { Tile } from '../../api/tile';
import type { Request, TileId, TileMemory } from './tiles';

/** Pause after a failed request. */
export const AGAIN_AFTER_MS = 3000;

export type FetchTile = (request: Request, signal: AbortSignal) => Promise<Tile>;

interface Running {
  bands: Set<number>;
  tile: TileId;
  abort: AbortController;
}

export class TileLoader {
  private readonly running = new Set<Running>();
  private queue: Request[] = [];
  private failedAt = 0;
  /** Error of the newest request; null if it succeeded. */
  error: unknown = null;

  constructor(
    private readonly memory: TileMemory,
    private readonly fetch: FetchTile,
    /** Called when a tile arrives or its request fails. */
    private readonly arrived: () => void,
    private readonly atOnce = 4,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Replaces the list of wanted tiles. */
  want(requests: readonly Request[]): void {
    for (const running of this.running) {
      if (!requests.some(({ tile }) => same(tile, running.tile))) running.abort.abort();
    }
    this.queue = requests.flatMap((request) => {
      const { tile, bands } = request;
      const coming = new Set([...this.running].flatMap((one) => (same(one.tile, tile) ? [...one.bands] : [])));
      const rest = bands.filter((band) => !coming.has(band));
      return rest.length > 0 ? [{ ...request, bands: rest }] : [];
    });
    this.pump();
  }

  get idle(): boolean {
    return this.running.size === 0 && this.queue.length === 0;
  }

  stop(): void {
    this.queue = [];
    for (const { abort } of this.running) abort.abort();
  }

  private pump(): void {
    // Without the pause, a failing server would get sixty requests a second.
    if (this.error !== null && this.now() - this.failedAt < AGAIN_AFTER_MS - 100) return;
    while (this.running.size < this.atOnce) {
      const request = this.queue.shift();
      if (!request) return;
      void this.run(request);
    }
  }

  private async run(request: Request): Promise<void> {
    const { tile, bands } = request;
    const running = { tile, bands: new Set(bands), abort: new AbortController() };
    this.running.add(running);
    try {
      const received = await this.fetch(request, running.abort.signal);
      this.memory.add(tile, received);
      this.error = null;
    } catch (error) {
      if (!running.abort.signal.aborted) {
        this.error = error;
        this.failedAt = this.now();
      }
    } finally {
      this.running.delete(running);
      this.pump();
      if (!running.abort.signal.aborted) this.arrived();
    }
  }
}

function same(a: TileId, b: TileId): boolean {
  return a.level === b.level && a.index === b.index;
}
