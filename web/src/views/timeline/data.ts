// The data of the timeline: bands as a resource of React, tiles from a loader that the drawing asks.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { fetchTile, resultUrl } from '../../api/client';
import type { Info } from '../../api/types';
import { begin, busy, onActivity } from '../../base/activity';
import type { BandRow } from '../../logic/timeline/band';
import type { Part } from '../../logic/timeline/columns';
import { AGAIN_AFTER_MS, TileLoader } from '../../logic/timeline/loader';
import type { Scene } from '../../logic/timeline/scene';
import {
  levelFor,
  missingTiles,
  type Request,
  TileMemory,
  tileQuestion,
  tilesOver,
  topLevel,
} from '../../logic/timeline/tiles';
import { useView } from '../../state/provider';
import { selectionQuery, withParams } from '../../state/query';

export interface BandData {
  partsOf(band: number): { parts: readonly Part[]; states: Uint8Array };
  /** Requests the missing tiles of these bands and those near them. */
  need(seen: readonly BandRow[], near: readonly BandRow[]): void;
  /** The error of the tiles; null without one. */
  error: unknown;
}

/** More requests at once than the server has processors would only delay each of them. */
const AT_ONCE = Math.max(2, Math.min(4, navigator.hardwareConcurrency));

/** Tiles of the view's selection. The old selection's tiles stay on the screen until the new ones arrive. */
export function useBandData(scene: Scene, info: Info, ratio: number): BandData {
  const { result, by } = useView((state) => ({ result: state.result, by: state.bands }));
  const query = useView((state) => selectionQuery(state, { time: true }).toString());
  const [error, setError] = useState<unknown>(null);
  const before = useRef<{ by: string; memory: TileMemory } | null>(null);
  const data = useMemo(() => {
    const top = topLevel(info.elapsed_ns);
    const memory = new TileMemory(top, by === 'thread');
    let old = before.current?.by === by ? before.current.memory : null;
    before.current = { by, memory };
    const fetch = ({ tile, bands }: Request, signal: AbortSignal) => {
      const params = { ...tileQuestion(tile, info.elapsed_ns), by, bands: bands.join(',') };
      return fetchTile(resultUrl(result, 'tile', withParams(new URLSearchParams(query), params)), signal);
    };
    const loader: TileLoader = new TileLoader(
      memory,
      fetch,
      () => {
        setError(loader.error);
        if (loader.idle) old = null;
        if (loader.error !== null) setTimeout(scene.invalidate, AGAIN_AFTER_MS);
        scene.invalidate();
      },
      AT_ONCE,
    );
    const levelNow = () => levelFor((scene.view.to - scene.view.from) / Math.max(1, scene.width * ratio));
    const partsOf = (band: number) => {
      const parts = memory.parts(scene.view, levelNow(), info.elapsed_ns, band);
      if (parts.length > 0 || !old) return { parts, states: memory.states };
      return { parts: old.parts(scene.view, levelNow(), info.elapsed_ns, band), states: old.states };
    };
    // Ends the activity of waiting for visible tiles; a render that React discards has not begun one.
    const waiting: { end: (() => void) | null } = { end: null };
    const wait = (lacking: boolean) => {
      if (lacking) waiting.end ??= begin();
      else waiting.end?.();
      if (!lacking) waiting.end = null;
    };
    const need = (seen: readonly BandRow[], near: readonly BandRow[]) => {
      // During a movement, coarser tiles suffice: those of the previous level often serve.
      const level = Math.min(levelNow() + Number(scene.zooming), top);
      const ids = (rows: readonly BandRow[]) => rows.map(({ band }) => band.id);
      memory.touch(tilesOver(scene.view, level, info.elapsed_ns));
      const ahead = scene.zooming ? 'nothing' : scene.isMoving ? 'beside' : busy() ? 'nothing' : 'all';
      const sight = {
        view: scene.view,
        level,
        elapsedNs: info.elapsed_ns,
        bands: ids(seen),
        nearBands: ids(near),
        ahead,
      } as const;
      const missing = missingTiles(memory, sight, top);
      loader.want(missing);
      wait(loader.error === null && missing.some(({ ahead }) => !ahead));
    };
    return { loader, partsOf, need, wait };
  }, [scene, info, result, by, query, ratio]);
  // When all visible tiles have arrived, those near may follow.
  useEffect(() => onActivity(() => !busy() && scene.invalidate()), [scene]);
  useLayoutEffect(() => {
    // The page stays busy until the bands were drawn once, which requests their tiles.
    data.wait(true);
    return () => {
      data.loader.stop();
      data.wait(false);
    };
  }, [data]);
  return { partsOf: data.partsOf, need: data.need, error };
}
