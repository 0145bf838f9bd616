import { describe, expect, it } from 'vitest';
import { newColumns, paintColumns } from './columns';
import { ALL_STATES, band, random, text, tile } from './fixture';
import { TileLoader } from './loader';
import {
  levelFor,
  missingTiles,
  type Request,
  TILE_PX,
  type TileId,
  TileMemory,
  tileQuestion,
  tilesOver,
  tileTime,
  topLevel,
} from './tiles';

const NO_MERGED = true;

describe('tiles', () => {
  it('are never coarser than the screen, nor twice as fine', () => {
    const next = random(5);
    for (let round = 0; round < 500; round += 1) {
      const nsPerPx = 1e9 ** next();
      const px = 2 ** levelFor(nsPerPx);
      expect(px).toBeLessThanOrEqual(nsPerPx * 1.000001);
      expect(px * 2).toBeGreaterThan(nsPerPx);
    }
    expect(levelFor(0.004)).toBe(0);
  });

  it('cover a view without gaps', () => {
    const next = random(6);
    for (let round = 0; round < 500; round += 1) {
      const elapsed = 1e13 ** next() + 2000;
      const span = 10 + next() * elapsed;
      const from = next() * Math.max(0, elapsed - span);
      const view = { from, to: Math.min(from + span, elapsed) };
      const tiles = tilesOver(view, levelFor(span / 1500), elapsed).map(tileTime);
      expect(tiles[0]?.from).toBeLessThanOrEqual(view.from);
      expect(tiles.at(-1)?.to).toBeGreaterThanOrEqual(view.to);
      expect(tiles.length).toBeLessThan(6);
      for (const [at, one] of tiles.entries()) if (at > 0) expect(one.from).toBe(tiles[at - 1]?.to);
    }
  });

  it('ask for whole ns and no time after the end', () => {
    expect(topLevel(12.4e9)).toBe(24);
    expect(tileQuestion({ level: 24, index: 0 }, 12.4e9)).toEqual({ from: 0, to: 12.4e9, width: 740 });
    expect(tileQuestion({ level: 0, index: 3 }, 1e9)).toEqual({ from: 3072, to: 4096, width: 1024 });
  });

  it('draw the coarser tile until the finer one arrives', () => {
    const memory = new TileMemory(2, NO_MERGED);
    const elapsed = 4 * TILE_PX;
    const coarse = { ...band(1, 'RL', 2 * TILE_PX), flags: Uint8Array.of(1, 1) };
    memory.add({ level: 2, index: 0 }, tile(0, elapsed, [coarse], false));
    memory.add(
      { level: 1, index: 0 },
      tile(0, 2 * TILE_PX, [{ ...band(1, 'CP', TILE_PX), flags: Uint8Array.of(1, 0) }]),
    );
    const columns = newColumns(4);
    const view = { from: 0, to: elapsed };
    paintColumns(memory.parts(view, 1, elapsed, 1), view, columns, ALL_STATES);
    expect(text(columns)).toBe('cPll');
    expect(memory.parts(view, 1, elapsed, 2)).toEqual([]);
  });

  it('draw finer tiles until a coarser one arrives', () => {
    const memory = new TileMemory(2, NO_MERGED);
    const view = { from: 0, to: 4 * TILE_PX };
    memory.add({ level: 2, index: 0 }, tile(0, view.to, [{ ...band(1, 'R', view.to), flags: Uint8Array.of(1) }]));
    memory.add({ level: 0, index: 1 }, tile(TILE_PX, 2 * TILE_PX, [band(1, 'L', TILE_PX, TILE_PX)]));
    const columns = newColumns(4);
    paintColumns(memory.parts(view, 1, view.to, 1), view, columns, ALL_STATES);
    expect(text(columns)).toBe('rLrr');
  });

  it('need no finer tile without merged events', () => {
    const memory = new TileMemory(10, NO_MERGED);
    const elapsed = TILE_PX * 1024;
    memory.add(
      { level: 10, index: 0 },
      tile(0, elapsed, [band(1, 'RL', elapsed / 2), { ...band(2, 'R', elapsed), flags: Uint8Array.of(1) }]),
    );
    const sight = {
      view: { from: 0, to: 50 },
      level: 0,
      elapsedNs: elapsed,
      bands: [1, 2],
      nearBands: [],
      ahead: 'all' as const,
    };
    expect(missingTiles(memory, sight, 10)[0]).toEqual({ tile: { level: 0, index: 0 }, bands: [2], ahead: false });
    const shared = new TileMemory(10, false);
    shared.add({ level: 10, index: 0 }, tile(0, elapsed, [band(1, 'RL', elapsed / 2)]));
    expect(shared.has({ level: 0, index: 0 }, 1)).toBe(false);
  });

  it('request visible tiles first, then those near', () => {
    const elapsed = TILE_PX * 64;
    const view = { from: 10 * TILE_PX, to: 13 * TILE_PX };
    const sight = { view, level: 0, elapsedNs: elapsed, bands: [1], nearBands: [2], ahead: 'all' as const };
    const asked = missingTiles(new TileMemory(6, NO_MERGED), sight, 6);
    expect(asked.map(({ tile: { level, index }, bands }) => `${level}/${index}:${bands}`)).toEqual([
      '6/0:1',
      '0/11:1',
      '0/10:1',
      '0/12:1',
      '0/13:1',
      '0/9:1',
      '6/0:2',
      '0/11:2',
      '0/10:2',
      '0/12:2',
    ]);
    expect(asked.map(({ ahead }) => ahead).indexOf(true)).toBe(4);
    const zooming = missingTiles(new TileMemory(6, NO_MERGED), { ...sight, ahead: 'nothing' }, 6);
    expect(zooming.map(({ bands }) => bands)).toEqual([[1], [1], [1], [1]]);
  });

  it('stay within their memory, but keep the tile of the whole collection', () => {
    const memory = new TileMemory(12, NO_MERGED, 40_000);
    memory.add({ level: 12, index: 0 }, tile(0, 1, [band(1, 'RL'.repeat(20))]));
    for (let index = 0; index < 200; index += 1) {
      memory.add({ level: 0, index }, tile(0, 1, [band(1, 'RL'.repeat(20), 1, index * TILE_PX)]));
      expect(memory.size).toBeLessThanOrEqual(40_000);
    }
    expect(memory.has({ level: 12, index: 0 }, 1)).toBe(true);
    expect(memory.parts(tileTime({ level: 0, index: 199 }), 0, 1e9, 1)[0]?.data.start[0]).toBe(199 * TILE_PX);
  });
});

describe('loading tiles', () => {
  function harness() {
    const memory = new TileMemory(3, NO_MERGED);
    const asked: {
      tile: TileId;
      bands: readonly number[];
      signal: AbortSignal;
      answer: () => void;
      fail: () => void;
    }[] = [];
    let arrived = 0;
    let time = 0;
    const fetch = ({ tile: id, bands }: Request, signal: AbortSignal) =>
      new Promise<ReturnType<typeof tile>>((resolve, reject) => {
        const fail = () => reject(new Error('gone'));
        signal.addEventListener('abort', fail);
        const answer = () =>
          resolve(
            tile(
              0,
              1,
              bands.map((number) => ({ ...band(number, 'R'), flags: Uint8Array.of(1) })),
            ),
          );
        asked.push({ tile: id, bands, signal, answer, fail });
      });
    const loader = new TileLoader(
      memory,
      fetch,
      () => {
        arrived += 1;
      },
      4,
      () => time,
    );
    return {
      memory,
      asked,
      loader,
      arrivals: () => arrived,
      wait: (ms: number) => {
        time += ms;
      },
    };
  }
  const want = (...indices: number[]) =>
    indices.map((index) => ({ tile: { level: 0, index }, bands: [1], ahead: false }));
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

  it('asks for a few at once, and nothing twice', async () => {
    const { asked, loader, memory, arrivals } = harness();
    loader.want(want(1, 2, 3, 4, 5, 6));
    loader.want(want(1, 2, 3, 4, 5, 6));
    expect(asked.map(({ tile: { index } }) => index)).toEqual([1, 2, 3, 4]);
    asked[0]?.answer();
    await settle();
    expect(asked).toHaveLength(5);
    expect(memory.has({ level: 0, index: 1 }, 1)).toBe(true);
    expect(arrivals()).toBe(1);
  });

  it('aborts unwanted requests', async () => {
    const { asked, loader, arrivals } = harness();
    loader.want(want(1, 2));
    loader.want(want(2, 9));
    await settle();
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
    expect(asked.map(({ tile: { index } }) => index)).toEqual([1, 2, 9]);
    expect(arrivals()).toBe(0);
    expect(loader.error).toBeNull();
  });

  it('pauses after an error', async () => {
    const { asked, loader, wait } = harness();
    loader.want(want(1));
    asked[0]?.fail();
    await settle();
    expect(loader.error).toBeInstanceOf(Error);
    loader.want(want(1));
    expect(asked).toHaveLength(1);
    wait(5000);
    loader.want(want(1));
    asked[1]?.answer();
    await settle();
    expect(loader.error).toBeNull();
  });
});
