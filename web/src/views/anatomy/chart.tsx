// The annotated trace as a flame chart over the clock, with the whole trace in a strip above.

import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState, type WheelEvent } from 'react';
import { fetchJson } from '../../api/client';
import type { ChartTile, TraceInfo } from '../../api/types';
import { t } from '../../base/texts';
import { count, percent } from '../../base/units';
import { type Box, boxAt, CALL_HEIGHT, ChartTiles, closest } from '../../logic/anatomy/chart';
import { ChartLoader } from '../../logic/anatomy/loader';
import { Scene } from '../../logic/timeline/scene';
import { panBy, timeAt, type Viewport, wheelFactor, wholeNs, zoomAbout } from '../../logic/timeline/viewport';
import { useKeys } from '../../logic/use-keys';
import { usePreferences } from '../../state/preferences';
import { useDispatch, useStore, useView } from '../../state/provider';
import { withParams } from '../../state/query';
import { asApiError } from '../../state/resource';
import { traceUrl, useTrace } from '../../state/trace';
import { Failure } from '../parts/states';
import { useSurface } from '../timeline/surface';
import { type Picture, paintAxis, paintCalls, paintOverview } from './paint';

const DRAG_PX = 4;

export function CallChart({ info }: { info: TraceInfo }) {
  const scene = useScene(info.ticks);
  const { theme } = usePreferences();
  const { call, lit, isLit } = useView((state) => ({
    call: state.call,
    lit: { phases: state.lit, function: state.function, module: state.module },
    isLit: state.lit.length > 0 || state.function !== '',
  }));
  const all = useTiles(scene, info.ticks, '');
  const bright = useTiles(scene, info.ticks, isLit ? litQuery(lit) : null);
  const [pointed, setPointed] = useState<Box | null>(null);
  const shown = useRef<readonly Box[]>([]);
  const picture = (width: number, height: number, view: Viewport, whole = false): Picture => {
    const boxes = all.boxes(view, width, whole);
    const marked = isLit ? bright.boxes(view, width, whole) : null;
    return { boxes, lit: marked, call, pointed: pointed?.call ?? null, info, theme, width, height, view };
  };
  const canvas = useSurface(scene, (context, width, height) => {
    scene.resize(width, height);
    const drawn = picture(width, height, scene.view);
    shown.current = isLit && drawn.lit ? [...drawn.boxes, ...drawn.lit] : drawn.boxes;
    paintCalls(context, drawn, scene.scrollTop);
  });
  const axis = useSurface(scene, (context, width, height) =>
    paintAxis(context, { view: scene.view, width, height, info, theme }),
  );
  const overview = useSurface(scene, (context, width, height) => {
    const whole = { from: 0, to: info.ticks };
    paintOverview(context, picture(width, height, whole, true), scene.view);
  });
  const at = (x: number, y: number) => boxAt(shown.current, x, y + scene.scrollTop);
  const pointer = useChartPointer(scene, info, { at, point: setPointed });
  useChartKeys(scene, info);
  const picked = useTrace('call', call === null ? null : { number: call }).data;
  useEffect(() => {
    if (picked) reveal(scene, picked.call.depth, info);
  }, [scene, picked, info]);
  const error = all.error ?? bright.error;
  return (
    <section className="calls" aria-label={t('tab.calls')}>
      <canvas
        ref={overview}
        className="calls-overview"
        role="img"
        aria-label={t('anatomy.overview')}
        data-tip={t('anatomy.overview.help')}
        {...useRangePointer(scene, true)}
      />
      <canvas ref={axis} className="calls-axis" {...useRangePointer(scene, false)} />
      {error !== null && <Failure error={error} hint={null} />}
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing to move in is not a form. */}
      <div
        className="calls-place"
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys go from call to call.
        tabIndex={0}
        aria-label={t('anatomy.chart')}
        onKeyDown={useCallKeys(shown, scene)}
      >
        <canvas ref={canvas} className="calls-canvas" {...pointer} />
      </div>
      <Details box={pointed} info={info} />
    </section>
  );
}

/** The scene of a trace, in sync with the view's zoom. */
function useScene(ticks: number): Scene {
  const store = useStore();
  const zoom = useView((state) => state.zoom);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new zoom moves the existing scene.
  const scene = useMemo(() => new Scene(ticks, zoom), [ticks]);
  useEffect(() => scene.follow(zoom), [scene, zoom]);
  useEffect(
    () => scene.onSettled((view) => store.dispatch({ zoom: scene.isWhole ? null : wholeNs(view) }, 'touch')),
    [scene, store],
  );
  useEffect(() => () => scene.stop(), [scene]);
  return scene;
}

function litQuery(lit: { phases: string[]; function: string; module: string }): string {
  const params = lit.function ? { function: lit.function, module: lit.module } : { phase: lit.phases };
  return withParams(new URLSearchParams(), params).toString();
}

interface Drawn {
  boxes: (view: Viewport, width: number, whole?: boolean) => Box[];
  error: string | null;
}

/** The tiles of one question, fetched on drawing; null fetches nothing. */
function useTiles(scene: Scene, ticks: number, query: string | null): Drawn {
  const { result, machine } = useView((state) => ({ result: state.result, machine: state.machine }));
  // The error as text: every drawing retries and fails the same way, and an equal text renders nothing again.
  const [failed, setFailed] = useState<string | null>(null);
  const known = useMemo(() => {
    const tiles = new ChartTiles(ticks);
    const ask = (question: { from: number; to: number; width: number }, signal: AbortSignal) => {
      const url = traceUrl(result, 'chart', machine, question);
      return fetchJson(query ? `${url}&${query}` : url, signal) as Promise<ChartTile>;
    };
    const arrived = (error: unknown) => {
      setFailed(error === null ? null : asApiError(error).text);
      if (error === null) scene.invalidate();
    };
    // A loader of its own keeps the strip's tiles when the chart zooms in.
    const loader = () => new ChartLoader(tiles, ticks, ask, arrived);
    return { tiles, near: loader(), whole: loader() };
  }, [scene, ticks, result, machine, query]);
  useEffect(() => {
    scene.invalidate();
    return () => {
      known.near.stop();
      known.whole.stop();
    };
  }, [scene, known]);
  return {
    boxes: (view, width, whole = false) => {
      if (query === null) return [];
      (whole ? known.whole : known.near).want(view, width);
      return known.tiles.boxes(view, width);
    },
    error: failed,
  };
}

interface Pointed {
  at: (x: number, y: number) => Box | null;
  point: (box: Box | null) => void;
}

/** The wheel zooms, a drag moves, a click picks a call, a double click zooms to it. */
function useChartPointer(scene: Scene, info: TraceInfo, { at, point }: Pointed) {
  const dispatch = useDispatch();
  const drag = useRef<{ x: number; y: number; view: Viewport; top: number; moved: boolean } | null>(null);
  const place = (event: { currentTarget: Element; clientX: number; clientY: number }) => {
    const box = event.currentTarget.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top] as const;
  };
  return {
    onPointerDown(event: PointerEvent<HTMLElement>) {
      if (event.button !== 0) return;
      const [x, y] = place(event);
      drag.current = { x, y, view: scene.view, top: scene.scrollTop, moved: false };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove(event: PointerEvent<HTMLElement>) {
      const [x, y] = place(event);
      const from = drag.current;
      if (!from) return point(at(x, y));
      from.moved ||= Math.abs(x - from.x) >= DRAG_PX || Math.abs(y - from.y) >= DRAG_PX;
      if (!from.moved) return;
      scene.moveTo(panBy(from.view, from.x - x, scene.width, info.ticks));
      scene.scrollTo(limitedTop(from.top + from.y - y, scene, info));
    },
    onPointerUp(event: PointerEvent<HTMLElement>) {
      const [x, y] = place(event);
      const box = drag.current?.moved === false ? at(x, y) : null;
      drag.current = null;
      if (box) dispatch({ call: box.call }, 'touch');
    },
    onPointerLeave() {
      if (!drag.current) point(null);
    },
    onDoubleClick(event: React.MouseEvent<HTMLElement>) {
      const box = at(...place(event));
      if (box) scene.moveTo(around(box, info));
    },
    onWheel(event: WheelEvent<HTMLElement>) {
      const [x] = place(event);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        scene.moveTo(panBy(scene.view, event.deltaX || event.deltaY, scene.width, info.ticks));
      } else if (event.altKey) {
        scene.scrollTo(limitedTop(scene.scrollTop + event.deltaY, scene, info));
      } else zoomTo(scene, info, x, wheelFactor(event.deltaY, event.deltaMode));
    },
  };
}

function limitedTop(top: number, scene: Scene, info: TraceInfo): number {
  return Math.max(0, Math.min(top, (info.depths + 1) * CALL_HEIGHT - scene.height));
}

/** Scrolls to a depth outside the screen. */
function reveal(scene: Scene, depth: number, info: TraceInfo): void {
  const top = depth * CALL_HEIGHT;
  const isSeen = top >= scene.scrollTop && top + CALL_HEIGHT <= scene.scrollTop + scene.height;
  if (!isSeen && scene.height > 0) scene.scrollTo(limitedTop(top - scene.height / 2, scene, info));
}

function zoomTo(scene: Scene, info: TraceInfo, x: number, factor: number): void {
  const least = closest(info.ticks_per_cycle) / (scene.view.to - scene.view.from);
  scene.moveTo(zoomAbout(scene.view, x, scene.width, Math.max(factor, least), info.ticks));
}

/** A call with a little room on both sides. */
function around({ begin, end }: { begin: number; end: number }, info: TraceInfo): Viewport {
  const room = Math.max((end - begin) * 0.04, (closest(info.ticks_per_cycle) - (end - begin)) / 2);
  return { from: begin - room, to: end + room };
}

/** A drag over the strip or over the axis selects the visible time; a click on the strip centres it. */
function useRangePointer(scene: Scene, whole: boolean) {
  const start = useRef<{ x: number; view: Viewport } | null>(null);
  const x = (event: PointerEvent<HTMLElement>) => event.clientX - event.currentTarget.getBoundingClientRect().left;
  return {
    onPointerDown(event: PointerEvent<HTMLElement>) {
      start.current = { x: x(event), view: whole ? { from: 0, to: scene.elapsedNs } : scene.view };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerUp(event: PointerEvent<HTMLElement>) {
      const from = start.current;
      start.current = null;
      if (!from) return;
      const [a, b] = [from.x, x(event)].map((at) => timeAt(at, from.view, scene.width)) as [number, number];
      const half = (scene.view.to - scene.view.from) / 2;
      if (Math.abs(x(event) - from.x) >= DRAG_PX) scene.moveTo({ from: Math.min(a, b), to: Math.max(a, b) });
      else if (whole) scene.moveTo({ from: a - half, to: a + half });
    },
  };
}

function useChartKeys(scene: Scene, info: TraceInfo): void {
  const middle = () => scene.pointer?.x ?? scene.width / 2;
  const done = (action: () => void): true => {
    action();
    return true;
  };
  useKeys({
    pan: ({ key }) =>
      done(() => scene.moveTo(panBy(scene.view, scene.width * (key === 'a' ? -0.2 : 0.2), scene.width, info.ticks))),
    'zoom-in': ({ key }) => done(() => zoomTo(scene, info, middle(), key === 'w' || key === '+' ? 1 / 1.5 : 1.5)),
    'zoom-all': () => done(() => scene.moveTo({ from: 0, to: info.ticks })),
  });
}

/** Arrow keys go to the caller, the first callee, the previous and the next call; Enter zooms to the call. */
function useCallKeys(shown: { current: readonly Box[] }, scene: Scene) {
  const dispatch = useDispatch();
  const call = useView((state) => state.call);
  return (event: KeyboardEvent) => {
    const own = shown.current.find((box) => box.call === call) ?? shown.current[0];
    if (!own || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = neighbour(shown.current, own, event.key);
    if (next) dispatch({ call: next.call }, 'touch');
    else if (event.key === 'Enter') {
      const room = (own.end - own.begin) * 0.04;
      scene.moveTo({ from: own.begin - room, to: own.end + room });
    } else if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
    event.stopPropagation();
  };
}

/** The box that an arrow key leads to. */
function neighbour(boxes: readonly Box[], own: Box, key: string): Box | undefined {
  const at = (depth: number) => boxes.filter((box) => box.depth === depth);
  if (key === 'ArrowUp') return at(own.depth - 1).find((box) => box.begin <= own.begin && box.end > own.begin);
  if (key === 'ArrowDown') return at(own.depth + 1).find((box) => box.begin >= own.begin && box.begin < own.end);
  if (key === 'ArrowRight') return at(own.depth).find((box) => box.begin > own.begin);
  if (key === 'ArrowLeft') return at(own.depth).findLast((box) => box.begin < own.begin);
  return undefined;
}

/** One line about the call under the pointer. */
function Details({ box, info }: { box: Box | null; info: TraceInfo }) {
  const cycles = (ticks: number) => count(ticks / info.ticks_per_cycle);
  return (
    <div className="flame-details">
      {box ? (
        <>
          <strong className="ellipsis">{box.name}</strong>
          <span>{t('anatomy.cycles', { cycles: cycles((box.end - box.begin) * box.covered) })}</span>
          <span className="faint">{info.phases[box.phase]}</span>
          {box.calls > 1 && (
            <span className="faint">
              {t('anatomy.merged', { calls: count(box.calls), share: percent(box.covered) })}
            </span>
          )}
        </>
      ) : (
        <span className="faint ellipsis">
          {t('anatomy.chart.help')}
          {info.missing !== null && ` ${t('anatomy.missing', { cycles: cycles(info.missing) })}`}
          {info.is_cut && ` ${t('anatomy.cut', { depth: info.depths })}`}
        </span>
      )}
    </div>
  );
}
