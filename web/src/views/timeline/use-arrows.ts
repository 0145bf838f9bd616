// The wake-ups to draw: those of the picked thread faintly, the one that ended the picked or hovered interval strongly.

import type { IntervalInfo } from '../../api/types';
import type { Arrow } from '../../logic/timeline/arrows';
import type { Scene } from '../../logic/timeline/scene';
import { wholeNs } from '../../logic/timeline/viewport';
import { useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { useSettledView } from './setting';

/** More arrows would hide the bands. */
const MOST = 120;

export function useArrows(scene: Scene, picked: IntervalInfo | null, hovered: IntervalInfo | null) {
  const wanted = useView((state) => state.bands === 'thread' && !state.off.includes('arrows'));
  const view = wholeNs(useSettledView(scene));
  const thread = picked?.thread;
  const faint = useCall('arrows', {
    params: { ...view, thread, limit: MOST },
    without: { time: true },
    when: wanted && thread !== undefined,
  });
  const ended = [useEnding(wanted ? picked : null), useEnding(wanted ? hovered : null)].flat();
  const few = faint.data && faint.data.total <= MOST && thread !== undefined ? faint.data.arrows : [];
  const strong = (arrow: Arrow) => ended.some((one) => one.time_ns === arrow.time_ns && one.woken === arrow.woken);
  const others = wanted ? few.filter((arrow) => !strong(arrow)) : [];
  return [...others.map((arrow) => ({ arrow, strong: false })), ...ended.map((arrow) => ({ arrow, strong: true }))];
}

/** The wake-up that ended an interval. */
function useEnding(interval: IntervalInfo | null): Arrow[] {
  const woken = interval && interval.waker !== '' ? interval : null;
  const arrows = useCall('arrows', {
    params: woken ? { from: woken.start_ns, to: woken.end_ns + 1, thread: woken.thread, limit: 1000 } : {},
    without: { time: true },
    when: woken !== null,
  });
  const inside = ({ woken: thread, time_ns: time }: Arrow) =>
    woken !== null && thread === woken.thread && woken.start_ns <= time && time <= woken.end_ns;
  return woken ? (arrows.data?.arrows.filter(inside) ?? []) : [];
}
