// The line beside the pointer.

import { useEffect, useRef, useState } from 'react';
import type { Info, IntervalInfo } from '../../api/types';
import { begin } from '../../base/activity';
import { covering, describeInterval, describePiece, describeSpan } from '../../logic/timeline/describe';
import type { Hit } from '../../logic/timeline/hit';
import type { Scene } from '../../logic/timeline/scene';
import { useCall } from '../../state/resource';
import { type Setting, threadOf, useSetting } from './setting';

const REST_MS = 60;

export interface Hovered {
  thread: number | null;
  label: string;
  hit: Hit;
}

/** The event under the pointer; re-renders only when it changes. */
export function useHovered(info: Info, by: Setting['by'], rows: Setting['rows']) {
  const [hovered, setHovered] = useState<Hovered | null>(null);
  const last = useRef('');
  const set = (hit: Hit | null) => {
    const { piece, span } = hit ?? {};
    const part = piece ?? span;
    const key = hit && part ? `${hit.row} ${part.from} ${part.to} ${piece?.state ?? span?.lane}` : '';
    if (key === last.current) return;
    last.current = key;
    const band = hit && rows[hit.row]?.band;
    if (!hit || !band) return setHovered(null);
    const thread = threadOf(by, band.id, hit);
    // A CPU's band shows which thread ran.
    const ran = by === 'cpu' ? info.threads.find(({ id }) => id === thread) : undefined;
    setHovered({ hit, thread, label: ran ? `${band.label} · ${ran.name} (${ran.tid})` : band.label });
  };
  return [hovered, set] as const;
}

/** The server's facts about the hovered interval, once the pointer has rested on it. */
export function useHoveredInterval(hovered: Hovered | null): IntervalInfo | null {
  const [rested, setRested] = useState<{ thread: number; at: number } | null>(null);
  const thread = hovered?.hit.piece && !hovered.hit.piece.many ? hovered.thread : null;
  const at = Math.max(0, Math.floor(hovered?.hit.time ?? 0));
  const covered = useRef<IntervalInfo | null>(null);
  const known = covering(covered.current, thread, at);
  useEffect(() => {
    if (thread === null || known) return;
    const end = begin();
    const timer = setTimeout(() => {
      setRested({ thread, at });
      end();
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [thread, at, known]);
  const interval = useCall('interval', { params: { ...rested }, when: rested !== null });
  if (interval.data) covered.current = interval.data;
  return covering(covered.current, thread, at);
}

export function HoverLine({
  scene,
  hovered,
  interval,
}: {
  scene: Scene;
  hovered: Hovered | null;
  interval: IntervalInfo | null;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    return scene.onFrame(() => {
      const [element, pointer] = [box.current, scene.pointer];
      const parent = element?.parentElement;
      if (!element || !parent || pointer?.y == null) return;
      const left = Math.min(pointer.x + 14, parent.clientWidth - element.offsetWidth - 6);
      const below = pointer.y + 20;
      const top = below + element.offsetHeight > parent.clientHeight ? pointer.y - element.offsetHeight - 10 : below;
      element.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${Math.round(top)}px)`;
    });
  }, [scene]);
  const { info } = useSetting();
  const { piece, span } = hovered?.hit ?? {};
  const known = piece && (interval ? describeInterval(interval) : describePiece(piece));
  const text = span ? describeSpan(span, info.task_types) : (known ?? '');
  return (
    <div ref={box} className="tl-hover" role="tooltip" hidden={text === ''}>
      <span className="faint">{hovered?.label}</span> {text}
    </div>
  );
}
