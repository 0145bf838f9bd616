// The collections that the page started: asked for again and again while one runs.

import { useEffect, useState } from 'react';
import { fetchCollections, fetchPicture } from '../api/collections';
import type { CollectionInfo, CollectionList, CollectionPicture } from '../api/types';

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

/** How often the picture of a collection is drawn anew. */
const PICTURE_MS = 1000;

/** What the threads of a collection do; null until they were looked at. Asked for only while it records and the page is seen. */
export function usePicture({ id, state }: CollectionInfo): CollectionPicture | null {
  const [picture, setPicture] = useState<CollectionPicture | null>(null);
  const isRecorded = state === 'recording' || state === 'paused';
  useEffect(() => {
    if (!isRecorded) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      if (!abort.signal.aborted) timer = setTimeout(ask, PICTURE_MS);
    };
    const ask = () => {
      // What nobody sees is not asked for: the server looks at the threads only for those who ask.
      if (document.hidden) return again();
      fetchPicture(id, abort.signal).then((next) => {
        if (!abort.signal.aborted) setPicture(next);
        again();
      }, again);
    };
    ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [id, isRecorded]);
  return picture;
}
