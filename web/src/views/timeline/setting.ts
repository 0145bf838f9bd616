// The context of one timeline's parts: the scene, the facts of the result, the bands and their arrangement.

import { createContext, useContext, useEffect, useState } from 'react';
import type { Info, IntervalInfo, WaitChain } from '../../api/types';
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
  /** The content of a band's lanes. */
  spansOf: SpansOf;
  /** The facts about the picked interval. */
  picked: IntervalInfo | null;
  /** Why that waited. */
  chain: WaitChain | null;
}

export const SettingContext = createContext<Setting | null>(null);

export function useSetting(): Setting {
  const setting = useContext(SettingContext);
  if (!setting) throw new Error('outside of a timeline');
  return setting;
}

/** The thread at a place of the bands: that of the band, or in a CPU's band the one that the tile names. */
export function threadOf(by: BandKind, band: number, hit: Hit | null): number | null {
  if (by === 'thread') return band;
  return by === 'cpu' ? (hit?.piece?.object ?? null) : null;
}

/** The scene's view, updated when it comes to rest. */
export function useSettledView(scene: Scene): Viewport {
  const [view, setView] = useState(scene.view);
  useEffect(() => scene.onSettled(setView), [scene]);
  return view;
}
