import { type KeyboardEvent, type PointerEvent, useMemo, useRef, useState } from 'react';
import type { Flame } from '../../api/types';
import { palette } from '../../base/palette';
import { t } from '../../base/texts';
import { duration, percent } from '../../base/units';
import {
  type FlameLayout,
  findNode,
  flameBoxes,
  layoutFlame,
  moduleOf,
  NODE_HEIGHT,
  nameOf,
  neighbour,
  nodeAt,
  pathTo,
  searchFlame,
} from '../../logic/flame';
import { useKeys } from '../../logic/use-keys';
import { filterIn, filterOut } from '../../state/actions';
import { usePreferences } from '../../state/preferences';
import { useDispatch, useStore, useView } from '../../state/provider';
import { Canvas, useSize } from '../parts/canvas';
import { openContextMenu, placeOf } from '../parts/context-menu';
import { useSubjects } from '../parts/use-subjects';
import { drawFlame } from './draw';

export function FlameChart({ flame }: { flame: Flame }) {
  const { box, size } = useSize<HTMLDivElement>();
  const { theme } = usePreferences();
  const focusNames = useView((state) => state.flame.focus);
  const search = useView((state) => state.search);
  const [top, setTop] = useState(0);
  const [pointed, setPointed] = useState(-1);
  const [cursor, setCursor] = useState(-1);
  const layout = useMemo(() => layoutFlame(flame), [flame]);
  const focus = useMemo(() => findNode(layout, focusNames), [layout, focusNames]);
  const found = useMemo(() => searchFlame(flame, search), [flame, search]);
  const height = Math.max(layout.levels * NODE_HEIGHT, 1);
  const boxes = useMemo(
    () => flameBoxes(layout, focus, size.width, top, top + size.height),
    [layout, focus, size.width, size.height, top],
  );
  const node = pointed >= 0 ? pointed : cursor;
  const zoom = useZoom(layout);
  const groupsOf = useSubjects();
  useNodeKeys(flame, cursor);
  const at = (event: PointerEvent<HTMLCanvasElement>) => {
    const { left, top: above } = event.currentTarget.getBoundingClientRect();
    return nodeAt(boxes, event.clientX - left, event.clientY - above + top);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === 'Enter') zoom(cursor);
    else if (event.key.startsWith('Arrow')) setCursor(visibleNeighbour(layout, cursor, focus, event.key));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <Details layout={layout} node={node} matched={search ? found.ns : null} />
      <section
        ref={box}
        className="flame"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move in the graph.
        tabIndex={0}
        aria-label={t('tab.flame')}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={key}
      >
        <div className="flame-room" style={{ height: Math.max(height, size.height) }}>
          <Canvas
            className="flame-canvas"
            size={size}
            draw={(context) =>
              drawFlame(context, boxes, {
                flame,
                palette: palette(theme),
                top,
                pointed,
                cursor,
                hits: search ? found.hits : null,
              })
            }
            onPointerMove={(event) => setPointed(at(event))}
            onPointerLeave={() => setPointed(-1)}
            onContextMenu={(event) => {
              const under = at(event as unknown as PointerEvent<HTMLCanvasElement>);
              if (under < 0) return;
              setCursor(under);
              openContextMenu(event, placeOf(event), groupsOf([{ level: 'function', name: nameOf(flame, under) }]));
            }}
            onClick={(event) => {
              const clicked = at(event as unknown as PointerEvent<HTMLCanvasElement>);
              setCursor(clicked);
              zoom(clicked);
            }}
          />
        </div>
      </section>
    </>
  );
}

/** Zooms to a node; a click outside the nodes zooms out. */
function useZoom(layout: FlameLayout): (node: number) => void {
  const store = useStore();
  const last = useRef(layout);
  last.current = layout;
  return (node) => {
    const { flame } = last.current;
    const focus = node < 0 ? [] : pathTo(flame, node).map((at) => nameOf(flame, at));
    store.dispatch((state) => ({ ...state, flame: { ...state.flame, focus } }));
  };
}

/** `f` and `F` filter by the function of the chosen node. */
function useNodeKeys(flame: Flame, cursor: number): void {
  const dispatch = useDispatch();
  const filter = (change: typeof filterIn) => {
    if (cursor < 0) return false;
    dispatch((state) => change(state, 'function', nameOf(flame, cursor)));
    return true;
  };
  useKeys({ 'filter-in': () => filter(filterIn), 'filter-out': () => filter(filterOut) });
}

/** Arrow keys start at the zoomed node. */
function visibleNeighbour(layout: FlameLayout, cursor: number, focus: number, key: string): number {
  return cursor < 0 && focus >= 0 ? focus : neighbour(layout, cursor, key);
}

/** One line about the node under the pointer or the cursor. */
function Details({ layout, node, matched }: { layout: FlameLayout; node: number; matched: number | null }) {
  const { flame, total } = layout;
  const share = (ns: number) => percent(total > 0 ? ns / total : 0);
  const own = flame.total[node] ?? 0;
  return (
    <div className="flame-details" aria-live="polite">
      {node >= 0 ? (
        <>
          <strong className="ellipsis">{nameOf(flame, node)}</strong>
          <span>
            {duration(own)} ({share(own)})
          </span>
          <span className="faint">{t('flame.self', { self: duration(flame.self_ns[node] ?? 0) })}</span>
          <span className="faint">{t('flame.waiting', { share: percent(flame.wait_share[node] ?? 0) })}</span>
          <span className="faint ellipsis">{moduleOf(flame, node)}</span>
        </>
      ) : (
        <span className="faint">{t('flame.help', { total: duration(total) })}</span>
      )}
      <span className="grow" />
      {matched !== null && <span>{t('flame.matched', { share: share(matched), time: duration(matched) })}</span>}
      {flame.pruned_ns > 0 && <span className="faint">{t('flame.pruned', { time: duration(flame.pruned_ns) })}</span>}
    </div>
  );
}
