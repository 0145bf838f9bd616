// Pointer and wheel over the time, as handlers for the element that shows it.

import { type PointerEvent, useRef } from 'react';
import { beginDrag, type Drag, type Effect, endDrag, moveDrag } from '../../logic/timeline/gesture';
import { timeAt, wholeNs } from '../../logic/timeline/viewport';
import { useDispatch } from '../../state/provider';
import { useSetting } from './setting';

interface Actions {
  /** Called for a press without a movement. */
  click?: (x: number, y: number) => void;
  /** Called when a drag moves the bands up or down. */
  scroll?: (top: number) => void;
  /** Called when a drag has selected a range, at this place. */
  selected?: (x: number, y: number) => void;
}

export function usePointer(area: 'bands' | 'axis' | 'charts', actions: Actions = {}) {
  const { scene } = useSetting();
  const dispatch = useDispatch();
  const drag = useRef<Drag | null>(null);
  const frame = () => ({ width: scene.width, elapsedNs: scene.elapsedNs });
  const apply = (effect: Effect, x: number, y: number) => {
    if (effect.kind === 'pan') {
      scene.moveTo(effect.view);
      actions.scroll?.(effect.scrollTop);
    } else if (effect.kind === 'click') {
      scene.select(null);
      dispatch({ mark: null }, 'touch');
      actions.click?.(x, y);
    } else if (effect.kind === 'select') {
      scene.select(effect.done ? null : effect.range);
      if (effect.done) dispatch({ mark: wholeNs(effect.range) }, 'touch');
      if (effect.done) actions.selected?.(x, y);
    }
  };
  const placeOf = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top] as const;
  };
  return {
    onPointerDown(event: PointerEvent<HTMLElement>) {
      const [x, y] = placeOf(event);
      const press = { x, y, onAxis: area === 'axis', shift: event.shiftKey, button: event.button };
      drag.current = beginDrag(press, scene.view, scene.scrollTop);
      if (!drag.current) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      // The browser would scroll with the middle button.
      if (event.button === 1) event.preventDefault();
    },
    onPointerMove(event: PointerEvent<HTMLElement>) {
      const [x, y] = placeOf(event);
      scene.point({ x, y: area === 'bands' ? y : null });
      if (!drag.current) return;
      const [next, effect] = moveDrag(drag.current, x, y, frame());
      drag.current = next;
      apply(effect, x, y);
    },
    onPointerUp(event: PointerEvent<HTMLElement>) {
      if (!drag.current) return;
      const [x, y] = placeOf(event);
      const effect = endDrag(drag.current, x, y, frame());
      drag.current = null;
      apply(effect, x, y);
    },
    onPointerCancel() {
      drag.current = null;
      scene.select(null);
    },
    onPointerLeave() {
      if (!drag.current) scene.point(null);
    },
    onDoubleClick(event: React.MouseEvent<HTMLElement>) {
      const box = event.currentTarget.getBoundingClientRect();
      const time = timeAt(event.clientX - box.left, scene.view, scene.width);
      const half = (scene.view.to - scene.view.from) / 4;
      if (area === 'axis') scene.moveTo({ from: time - half, to: time + half });
    },
  };
}
