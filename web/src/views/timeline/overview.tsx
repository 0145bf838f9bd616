// The whole time in one strip, with handles at the ends of the visible time.

import { type KeyboardEvent, type PointerEvent, useEffect, useRef } from 'react';
import { palette } from '../../base/palette';
import { t } from '../../base/texts';
import { timeText } from '../../logic/timeline/axis';
import { type Grip, gripAt, rangeX } from '../../logic/timeline/charts';
import { SHORTEST_NS, timeAt, type Viewport, wholeOf } from '../../logic/timeline/viewport';
import { usePreferences } from '../../state/preferences';
import { useView } from '../../state/provider';
import { useWholeCharts } from './charts';
import { type OverviewPicture, paintLoad, paintShown } from './paint-charts';
import { useSetting, useSettledView } from './setting';
import { useSceneWidth, useSurface } from './surface';

export function Overview({ height }: { height: number }) {
  const { scene } = useSetting();
  const { theme } = usePreferences();
  const { range, excluded, mark } = useView((state) => ({
    range: state.range,
    excluded: state.excludedRanges,
    mark: state.mark,
  }));
  const whole = wholeOf(scene.elapsedNs);
  const charts = useWholeCharts();
  const load = useRef<Load | null>(null);
  const canvas = useSurface(
    scene,
    (context, width, high, ratio) => {
      const data = charts ?? { from: 0, to: scene.elapsedNs, series: [] };
      const marked = scene.mark ?? mark;
      const picture = { charts: data, whole, view: scene.view, range, excluded, mark: marked, width, height: high };
      const colored = { ...picture, palette: palette(theme) };
      load.current ??= new Load();
      context.drawImage(load.current.of(colored, ratio), 0, 0, width, high);
      paintShown(context, colored);
    },
    { follows: 'pointer' },
  );
  const pointer = useOverviewPointer();
  const shown = useSceneWidth(scene);
  return (
    <div className="tl-row tl-overview" style={{ height }}>
      <div className="tl-label faint">{t('timeline.overview')}</div>
      <div className="tl-place" style={{ width: shown }}>
        <canvas ref={canvas} className="tl-canvas" {...pointer} />
        <Handle end="from" />
        <Handle end="to" />
      </div>
    </div>
  );
}

/** The drawing of the whole time, independent of the visible part. */
class Load {
  private readonly canvas = document.createElement('canvas');
  private drawn: OverviewPicture | null = null;

  of(picture: OverviewPicture, ratio: number): HTMLCanvasElement {
    const { charts, palette: colors, width, height } = picture;
    const old = this.drawn;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    const sameSize = this.canvas.width === wide && this.canvas.height === high;
    if (sameSize && old?.charts === charts && old.palette.theme === colors.theme) return this.canvas;
    this.canvas.width = wide;
    this.canvas.height = high;
    const context = this.canvas.getContext('2d');
    context?.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (context) paintLoad(context, picture);
    this.drawn = picture;
    return this.canvas;
  }
}

/** A drag moves a handle, or between the handles the view; outside them, it selects a new view. */
function useOverviewPointer() {
  const { scene } = useSetting();
  const drag = useRef<{ grip: Grip; start: number; view: Viewport } | null>(null);
  const whole = wholeOf(scene.elapsedNs);
  const at = (event: PointerEvent<HTMLElement>) => event.clientX - event.currentTarget.getBoundingClientRect().left;
  const move = (x: number) => {
    if (!drag.current) return;
    const { grip, start, view } = drag.current;
    const time = timeAt(x, whole, scene.width);
    const shift = time - timeAt(start, whole, scene.width);
    const shortest = Math.max(SHORTEST_NS, (2 * whole.to) / Math.max(scene.width, 1));
    if (grip === 'from') scene.moveTo({ from: Math.min(time, view.to - shortest), to: view.to });
    else if (grip === 'to') scene.moveTo({ from: view.from, to: Math.max(time, view.from + shortest) });
    else if (grip === 'middle') scene.moveTo({ from: view.from + shift, to: view.to + shift });
    else {
      const begin = timeAt(start, whole, scene.width);
      if (Math.abs(x - start) > 3) scene.moveTo({ from: Math.min(begin, time), to: Math.max(begin, time) });
    }
  };
  return {
    onPointerDown(event: PointerEvent<HTMLElement>) {
      if (event.button !== 0) return;
      const x = at(event);
      drag.current = { grip: gripAt(x, scene.view, whole, scene.width), start: x, view: scene.view };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove(event: PointerEvent<HTMLElement>) {
      const x = at(event);
      if (drag.current) move(x);
      else event.currentTarget.style.cursor = CURSORS[gripAt(x, scene.view, whole, scene.width)];
    },
    onPointerUp(event: PointerEvent<HTMLElement>) {
      const pressed = drag.current;
      // A click outside moves the view there.
      if (pressed?.grip === 'outside' && Math.abs(at(event) - pressed.start) <= 3) {
        const half = (pressed.view.to - pressed.view.from) / 2;
        const middle = timeAt(pressed.start, whole, scene.width);
        scene.moveTo({ from: middle - half, to: middle + half });
      }
      drag.current = null;
    },
  };
}

const CURSORS: Record<Grip, string> = { from: 'ew-resize', to: 'ew-resize', middle: 'grab', outside: 'crosshair' };

/** One end of the visible time, for the keyboard. */
function Handle({ end }: { end: 'from' | 'to' }) {
  const { scene } = useSetting();
  const view = useSettledView(scene);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    return scene.onFrame(() => {
      if (!box.current) return;
      const { x0, x1 } = rangeX(scene.view, wholeOf(scene.elapsedNs), scene.width);
      box.current.style.transform = `translateX(${Math.round(end === 'from' ? x0 : x1) - 4}px)`;
    });
  }, [scene, end]);
  const key = (event: KeyboardEvent) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction) return;
    event.preventDefault();
    event.stopPropagation();
    const now = scene.view;
    const moved = now[end] + (direction * (now.to - now.from)) / 20;
    const next = { ...now, [end]: Math.max(0, Math.min(scene.elapsedNs, moved)) };
    if (next.to - next.from >= SHORTEST_NS) scene.moveTo(next);
  };
  return (
    <div
      ref={box}
      className="tl-handle"
      role="slider"
      tabIndex={0}
      aria-label={t(`timeline.overview.${end}`)}
      aria-valuemin={0}
      aria-valuemax={Math.round(scene.elapsedNs)}
      aria-valuenow={Math.round(view[end])}
      aria-valuetext={timeText(view[end], Math.max(1, (view.to - view.from) / 100))}
      onKeyDown={key}
    />
  );
}
