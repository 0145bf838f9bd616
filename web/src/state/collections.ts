// The collections that the page started: asked for again and again while one runs.

import { useEffect, useState } from 'react';
import { fetchCollections } from '../api/collections';
import type { CollectionInfo, CollectionList } from '../api/types';

/** How often a collection that runs is looked at, and how often one is looked for that another tab started. */
const RUNNING_MS = 1000;
const IDLE_MS = 5000;

export function isRunning({ state }: CollectionInfo): boolean {
  return ['starting', 'recording', 'paused', 'finalizing'].includes(state);
}

/** The list, and a function that looks at once; null until it is known, and where the page may start none. */
export function useCollections(): [CollectionList | null, () => void] {
  const [list, setList] = useState<CollectionList | null>(null);
  const [look, setLook] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: to look again is to begin again.
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () => {
      fetchCollections(abort.signal).then(
        (next) => {
          if (abort.signal.aborted) return;
          setList(next);
          if (next.enabled) timer = setTimeout(ask, next.collections.some(isRunning) ? RUNNING_MS : IDLE_MS);
        },
        // The page says of its other calls that the server is gone.
        () => {
          if (!abort.signal.aborted) timer = setTimeout(ask, IDLE_MS);
        },
      );
    };
    ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [look]);
  return [list?.enabled ? list : null, () => setLook((count) => count + 1)];
}
