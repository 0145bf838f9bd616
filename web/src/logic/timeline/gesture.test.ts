import { describe, expect, it } from 'vitest';
import { arrowShapes } from './arrows';
import { arrangedBands, NOTHING_ARRANGED } from './bands';
import { beginDrag, endDrag, moveDrag } from './gesture';

const view = { from: 1000, to: 2000 };
const frame = { width: 100, elapsedNs: 10_000 };
const press = { x: 50, y: 10, onAxis: false, shift: false, button: 0 };

describe('dragging', () => {
  it('is a click when it hardly moves', () => {
    const drag = beginDrag(press, view, 0);
    if (!drag) throw new Error('no drag');
    const [still, effect] = moveDrag(drag, 52, 30, frame);
    expect(effect).toEqual({ kind: 'none' });
    expect(endDrag(still, 52, 30, frame)).toEqual({ kind: 'click', x: 52, y: 30 });
  });

  it('selects time in either direction, within the collection', () => {
    const drag = beginDrag(press, view, 0);
    if (!drag) throw new Error('no drag');
    const [moved, effect] = moveDrag(drag, 20, 10, frame);
    expect(effect).toEqual({ kind: 'select', range: { from: 1200, to: 1500 }, done: false });
    // A drag that returns to its start is still a selection, not a click.
    expect(endDrag(moved, 51, 10, frame)).toEqual({ kind: 'select', range: { from: 1500, to: 1510 }, done: true });
    expect(endDrag(moved, -1000, 10, frame)).toEqual({ kind: 'select', range: { from: 0, to: 1500 }, done: true });
  });

  it('moves the view on the axis, with Shift and with the middle button', () => {
    for (const how of [{ onAxis: true }, { shift: true }, { button: 1 }]) {
      const drag = beginDrag({ ...press, ...how }, view, 40);
      if (!drag) throw new Error('no drag');
      const [moved] = moveDrag(drag, 60, 10, frame);
      const [, effect] = moveDrag(moved, 70, 5, frame);
      expect(effect).toEqual({ kind: 'pan', view: { from: 800, to: 1800 }, scrollTop: 45, done: false });
    }
    expect(beginDrag({ ...press, button: 2 }, view, 0)).toBeNull();
  });
});

describe('arrows', () => {
  it('go from band to band, and only where they can be seen', () => {
    const bands = [7, 8, 9].map((id) => ({ id, label: '', process: '', start_ns: 0, end_ns: 1, lanes: 0, values: {} }));
    const rows = arrangedBands(bands, { ...NOTHING_ARRANGED, hidden: [9] });
    const arrow = (waker: number, woken: number, time_ns: number) => ({
      waker,
      woken,
      time_ns,
      run_ns: time_ns + 10,
      object: '',
    });
    const sheet = { view, width: 100, height: 40, scrollTop: 0 };
    const shapes = arrowShapes([arrow(7, 8, 1500), arrow(7, 9, 1500), arrow(7, 8, 2500)], rows, sheet);
    expect(shapes).toEqual([{ arrow: arrow(7, 8, 1500), x0: 50, y0: 10, x1: 51, y1: 30 }]);
    expect(arrowShapes([arrow(7, 8, 1500)], rows, { ...sheet, scrollTop: 100 })).toEqual([]);
  });
});
