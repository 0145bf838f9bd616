// Tasks, frames and markers of the bands on the screen.

import { useMemo, useRef } from 'react';
import type { BandRow } from '../../logic/timeline/band';
import { visibleBands } from '../../logic/timeline/bands';
import { type BandSpans, spanQuestion } from '../../logic/timeline/lanes';
import type { Scene } from '../../logic/timeline/scene';
import { useCall } from '../../state/resource';
import type { BandKind } from '../../state/view-state';
import { useFollowing } from './follow';

/** The content of a band's lanes; nothing until it arrives. */
export type SpansOf = (band: number) => BandSpans | undefined;

export function useSpans(scene: Scene, by: BandKind, rows: readonly BandRow[]): SpansOf {
  const question = useFollowing(scene, () => {
    const [first, end] = visibleBands(rows, scene.scrollTop, Math.max(scene.height, 1));
    return spanQuestion(scene.view, Math.max(200, scene.width), scene.elapsedNs, rows.slice(first, end));
  });
  const answer = useCall('tasks', {
    params: { ...question, by },
    without: { time: true },
    when: question.bands !== '',
  });
  // Bands that scroll out of sight and back keep their old content until the new one arrives.
  const known = useRef({ by, spans: new Map<number, BandSpans>() });
  if (known.current.by !== by) known.current = { by, spans: new Map() };
  return useMemo(() => {
    for (const band of answer.data?.bands ?? []) known.current.spans.set(band.id, band);
    const { spans } = known.current;
    return (band: number) => spans.get(band);
  }, [answer.data]);
}
