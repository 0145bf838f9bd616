// The bands: labels as a grid for the keyboard and screen readers, and the canvas beside it.

import { type KeyboardEvent, type MouseEvent, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { nameText } from '../../base/names';
import { palette } from '../../base/palette';
import { t } from '../../base/texts';
import { count, duration } from '../../base/units';
import { axisOf } from '../../logic/timeline/axis';
import type { BandRow } from '../../logic/timeline/band';
import { heightOf, scrollToRow, toggled, visibleBands } from '../../logic/timeline/bands';
import { inksOf } from '../../logic/timeline/texture';
import { panBy } from '../../logic/timeline/viewport';
import { usePreferences } from '../../state/preferences';
import { useDispatch, useView } from '../../state/provider';
import type { BandKind } from '../../state/view-state';
import { openContextMenu, placeOf } from '../parts/context-menu';
import { Overlay } from './overlay';
import { paintAxis, paintBands, Texture } from './paint-bands';
import { LABELS, useSetting } from './setting';
import { useSceneWidth, useSurface } from './surface';
import { useBandGroups } from './use-band-menu';
import { usePointer } from './use-pointer';

/** The time axis above the bands; a drag moves the view. */
export function AxisLine({ height }: { height: number }) {
  const { scene } = useSetting();
  const { theme } = usePreferences();
  const colors = palette(theme);
  const pointer = usePointer('axis');
  const shown = useSceneWidth(scene);
  const canvas = useSurface(scene, (context, width, high) => {
    paintAxis(context, axisOf(scene.view, width), width, high, colors);
  });
  return (
    <div className="tl-row" style={{ height }}>
      <div className="tl-label" />
      <canvas ref={canvas} className="tl-canvas tl-grab" {...pointer} style={{ width: shown }} />
    </div>
  );
}

export function Bands({ empty }: { empty: ReactNode }) {
  const { scene, rows } = useSetting();
  const scroller = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => {
      scene.resize(Math.max(1, element.clientWidth - LABELS), element.clientHeight);
      scene.scrollTo(element.scrollTop);
      setPlace({ top: element.scrollTop, width: element.clientWidth, height: element.clientHeight });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [scene]);
  useShowPicked(scroller);
  const total = heightOf(rows);
  return (
    <div className="tl-bands" ref={scroller}>
      <div className="tl-sheet" style={{ height: Math.max(total, 1) }}>
        <div className="tl-window" style={{ left: LABELS, width: place.width - LABELS, height: place.height }}>
          <BandCanvas />
          <Overlay scroller={scroller} />
        </div>
        <BandList place={place} scroller={scroller} />
      </div>
      {rows.length === 0 && empty}
    </div>
  );
}

/** Scrolls to the band of an interval that a link or a key has picked. */
function useShowPicked(scroller: React.RefObject<HTMLDivElement | null>): void {
  const { rows, by, scene } = useSetting();
  const picked = useView((state) => state.picked);
  const shown = useRef<typeof picked>(null);
  useLayoutEffect(() => {
    if (!scroller.current || by !== 'thread' || shown.current === picked) return;
    const row = rows.find(({ band }) => band.id === picked?.thread);
    if (!row) return;
    shown.current = picked;
    scroller.current.scrollTop = scrollToRow(row, scene.scrollTop, scene.height);
  }, [picked, rows, by, scene, scroller]);
}

function BandCanvas() {
  const { scene, rows, data, spansOf, info } = useSetting();
  const { theme } = usePreferences();
  const off = useView((state) => state.off);
  const colors = palette(theme);
  const inks = useMemo(() => inksOf(palette(theme), off), [theme, off]);
  const texture = useRef<Texture | null>(null);
  const canvas = useSurface(scene, (context, width, height, ratio) => {
    texture.current ??= new Texture();
    const [first, end] = visibleBands(rows, scene.scrollTop, height);
    const seen = rows.slice(first, end);
    data.need(seen, [...rows.slice(end, end + 12), ...rows.slice(Math.max(0, first - 12), first)]);
    const picture = {
      rows: seen,
      partsOf: data.partsOf,
      view: scene.view,
      width,
      height,
      scrollTop: scene.scrollTop,
      palette: colors,
      inks,
      axis: axisOf(scene.view, width),
      ratio,
      spansOf,
      types: info.task_types,
    };
    paintBands(context, picture, texture.current);
  });
  return <canvas ref={canvas} className="tl-layer" />;
}

interface ListProps {
  place: { top: number; height: number };
  scroller: React.RefObject<HTMLDivElement | null>;
}

/** The labels, each with the actions on its band. Tab reaches one of them, the arrow keys the others. */
function BandList({ place, scroller }: ListProps) {
  const { rows, by, scene } = useSetting();
  const [cursor, setCursor] = useState(0);
  const keys = useBandKeys(rows, cursor, (next) => {
    setCursor(next);
    const row = rows[next];
    if (row && scroller.current) scroller.current.scrollTop = scrollToRow(row, scene.scrollTop, scene.height);
  });
  const [first, end] = visibleBands(rows, place.top - 100, place.height + 200);
  const active = rows[cursor];
  const groupsOf = useBandGroups();
  const menu = (event: MouseEvent<HTMLElement>) => {
    const label = (event.target as HTMLElement).closest('.tl-label');
    const row = label ? rows[Number(label.getAttribute('aria-rowindex')) - 1] : active;
    const place = label ?? (active ? document.getElementById(rowId(active)) : null);
    if (row && place) openContextMenu(event, placeOf(event, place), groupsOf(row));
  };
  const name = t('timeline.bands', { kind: t(`by.${by}`), count: count(rows.length) });
  return (
    <div
      className="tl-labels"
      role="grid"
      aria-label={name}
      aria-rowcount={rows.length}
      aria-activedescendant={active ? rowId(active) : undefined}
      tabIndex={0}
      onKeyDown={keys}
      onContextMenu={menu}
      style={{ width: LABELS }}
    >
      {rows.slice(first, end).map((row, at) => (
        <Label
          key={row.band.id}
          row={row}
          index={first + at}
          active={first + at === cursor}
          choose={() => setCursor(first + at)}
        />
      ))}
    </div>
  );
}

const rowId = ({ band }: BandRow) => `band-${band.id}`;

function useBandKeys(rows: readonly BandRow[], cursor: number, setCursor: (next: number) => void) {
  const { scene, by } = useSetting();
  const dispatch = useDispatch();
  const page = () => Math.max(1, Math.floor(scene.height / 20) - 1);
  const move = (by: number) => setCursor(Math.max(0, Math.min(rows.length - 1, cursor + by)));
  const toggle = (key: 'pinned' | 'hidden' | 'expanded') => {
    const id = rows[cursor]?.band.id;
    if (id !== undefined) dispatch((state) => ({ ...state, [key]: toggled(state[key], id) }));
  };
  const pan = (by: number) => scene.moveTo(panBy(scene.view, by * 0.15 * scene.width, scene.width, scene.elapsedNs));
  const pick = () => {
    const thread = rows[cursor]?.band.id;
    const at = Math.floor((scene.view.from + scene.view.to) / 2);
    if (by === 'thread' && thread !== undefined) dispatch({ picked: { thread, at } });
  };
  const actions: Record<string, () => unknown> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    PageDown: () => move(page()),
    PageUp: () => move(-page()),
    p: () => toggle('pinned'),
    h: () => toggle('hidden'),
    e: () => toggle('expanded'),
    Enter: pick,
    ArrowLeft: () => pan(-1),
    ArrowRight: () => pan(1),
    Home: () => scene.toEnd('Home'),
    End: () => scene.toEnd('End'),
  };
  return (event: KeyboardEvent) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (!action || event.target !== event.currentTarget) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
}

function Label({ row, index, active, choose }: { row: BandRow; index: number; active: boolean; choose: () => void }) {
  const { by, picked } = useSetting();
  const sort = useView((state) => state.bandSort);
  const { band, top, height, pinned, expanded } = row;
  const description = describe(band, by);
  const chosen = by === 'thread' && picked?.thread === band.id;
  const shown = sort === 'start' || sort === 'name' ? undefined : band.values[sort];
  const name = `tl-label ${active ? 'tl-active' : ''} ${chosen ? 'tl-chosen' : ''} ${pinned ? 'tl-pinned' : ''}`;
  return (
    <div
      id={rowId(row)}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={chosen}
      className={name}
      style={{ top, height }}
      onPointerDown={choose}
    >
      <span role="gridcell" aria-label={description} className="tl-name" data-tip={description}>
        {nameText(band.label, by)}
        {expanded && <span className="faint tl-second">{band.process}</span>}
      </span>
      {shown !== undefined && (
        <span role="gridcell" className="faint number">
          {sort.endsWith('_ns') ? duration(shown) : count(shown)}
        </span>
      )}
      <span role="gridcell" className="tl-actions">
        <BandButton id={band.id} of="pinned" text={t(pinned ? 'band.unpin' : 'band.pin')} icon="⊤" on={pinned} />
        <BandButton
          id={band.id}
          of="expanded"
          text={t(expanded ? 'band.shrink' : 'band.expand')}
          icon="↕"
          on={expanded}
        />
        <BandButton id={band.id} of="hidden" text={t('band.hide')} icon="×" on={false} />
      </span>
    </div>
  );
}

function describe({ label, process, values }: BandRow['band'], by: BandKind): string {
  if (by === 'task') {
    const { count: times = 0, total_ns: total = 0 } = values;
    return t('band.describe-task', { label, domain: process, count: count(times), total: duration(total) });
  }
  const { cpu_ns: cpu = 0, wait_ns: wait = 0 } = values;
  return t('band.describe', { label: nameText(label, by), process, cpu: duration(cpu), wait: duration(wait) });
}

interface ButtonProps {
  id: number;
  of: 'pinned' | 'hidden' | 'expanded';
  text: string;
  icon: string;
  on: boolean;
}

function BandButton({ id, of, text, icon, on }: ButtonProps) {
  const dispatch = useDispatch();
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={text}
      aria-pressed={on}
      data-tip={text}
      className={on ? 'tl-button tl-on' : 'tl-button'}
      onClick={() => dispatch((state) => ({ ...state, [of]: toggled(state[of], id) }))}
    >
      {icon}
    </button>
  );
}
