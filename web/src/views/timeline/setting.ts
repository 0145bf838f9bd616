// What the parts of one timeline share: the scene, the facts of the result, bands and what the reader arranged.

import { createContext, useContext, useEffect, useState } from 'react';
import type { Info, Interval } from '../../api/types';
import type { BandRow } from '../../logic/timeline/band';
import type { Hit } from '../../logic/timeline/hit';
import type { Scene } from '../../logic/timeline/scene';
import type { Viewport } from '../../logic/timeline/viewport';
import type { BandKind } from '../../state/view-state';
import type { BandData } from './data';
import type { SpansOf } from './use-spans';

/** Width of the labels on the left, px. */
export const LABELS = 190;
export const AXIS_HEIGHT = 22;

export interface Setting {
  scene: Scene;
  info: Info;
  by: BandKind;
  rows: readonly BandRow[];
  data: BandData;
  /** What the lanes of a band hold. */
  spansOf: SpansOf;
  /** What is known of the picked interval. */
  picked: Interval | null;
}

export const SettingContext = createContext<Setting | null>(null);

export function useSetting(): Setting {
  const setting = useContext(SettingContext);
  if (!setting) throw new Error('outside of a timeline');
  return setting;
}

/** The thread that a place of the bands is about: of a thread's band, or of a CPU's, where the tile names it. */
export function threadOf(by: BandKind, band: number, hit: Hit | null): number | null {
  if (by === 'thread') return band;
  return by === 'cpu' ? (hit?.piece?.object ?? null) : null;
}

/** The scene's view whenever it has come to rest. */
export function useSettledView(scene: Scene): Viewport {
  const [view, setView] = useState(scene.view);
  useEffect(() => scene.onSettled(setView), [scene]);
  return view;
}
