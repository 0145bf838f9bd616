// Asks for missing tiles, a few at a time, the most useful first. What is not wanted any more is not asked for, and
// aborted if it was.

import type { Tile } from '../../api/tile';
import type { Request, TileId, TileMemory } from './tiles';

/** How long a server that failed is left alone. */
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
  /** Why the newest request failed; null: it did not. */
  error: unknown = null;

  constructor(
    private readonly memory: TileMemory,
    private readonly fetch: FetchTile,
    /** Called when something has come, or failed. */
    private readonly arrived: () => void,
    private readonly atOnce = 4,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Replaces what is wanted. */
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
    // A server that fails is not asked sixty times a second.
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
