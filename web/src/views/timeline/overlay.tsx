// The layer over the bands that follows the pointer: cursor, outlines, arrows, the selected range and its menu.

import { type RefObject, useEffect, useMemo, useRef } from 'react';
import type { IntervalInfo, WaitChain } from '../../api/types';
import { palette } from '../../base/palette';
import { t } from '../../base/texts';
import { span } from '../../base/units';
import { arrowShapes } from '../../logic/timeline/arrows';
import type { BandRow } from '../../logic/timeline/band';
import { chainArrows } from '../../logic/timeline/chain';
import { hitTest } from '../../logic/timeline/hit';
import { laneBox } from '../../logic/timeline/lanes';
import { explainRange } from '../../logic/timeline/selection';
import { xOf } from '../../logic/timeline/viewport';
import { filterInRange, filterOutRange } from '../../state/actions';
import { usePreferences } from '../../state/preferences';
import { useDispatch, useView } from '../../state/provider';
import { HoverLine, useHovered, useHoveredInterval } from './hover';
import { bandParts, type OverlayPicture, paintOverlay } from './paint-bands';
import { threadOf, useSetting } from './setting';
import { useSurface } from './surface';
import { useArrows } from './use-arrows';
import { useBandMenu } from './use-band-menu';
import { usePointer } from './use-pointer';

export function Overlay({ scroller }: { scroller: RefObject<HTMLDivElement | null> }) {
  const { scene, rows, data, spansOf, by, info, picked, chain } = useSetting();
  const [hovered, hover] = useHovered(info, by, rows);
  const interval = useHoveredInterval(hovered);
  const arrows = useArrows(scene, picked, interval);
  const { pieces, steps } = useMemo(() => drawnChain(by === 'thread' ? chain : null, picked), [by, chain, picked]);
  const { theme } = usePreferences();
  const { mark, range, excluded } = useView(({ mark, range, excludedRanges }) => ({
    mark,
    range,
    excluded: excludedRanges,
  }));
  const dispatch = useDispatch();
  const hitAt = (x: number, y: number) =>
    hitTest({ x, y: y + scene.scrollTop, width: scene.width }, scene.view, rows, data.partsOf, spansOf);
  const pointer = usePointer('bands', {
    click(x, y) {
      const hit = hitAt(x, y);
      const band = hit && rows[hit.row]?.band;
      if (!band) return;
      const thread = threadOf(by, band.id, hit);
      if (by === 'object') dispatch({ object: band.label }, 'touch');
      const at = Math.max(0, Math.min(Math.floor(hit.time), info.elapsed_ns - 1));
      dispatch({ picked: thread === null ? null : { thread, at }, task: hit.span?.task ?? null });
    },
    scroll(top) {
      if (scroller.current) scroller.current.scrollTop = top;
    },
  });
  const menu = useBandMenu(hitAt, interval);
  const canvas = useSurface(
    scene,
    (context, width, height) => {
      const { x, y } = scene.pointer ?? { x: null, y: null };
      const hit = x !== null && y !== null ? hitAt(x, y) : null;
      hover(hit);
      const outlines: OverlayPicture['outlines'] = [];
      const stateBox = (row: BandRow) => stateBoxOf(row, scene.scrollTop);
      const under = hit && rows[hit.row];
      if (under && hit.piece) outlines.push({ time: hit.piece, ...stateBox(under), as: 'hovered' });
      if (under && hit.span) {
        const { top, height } = laneBox(under, hit.span.lane);
        outlines.push({ time: hit.span, top: under.top - scene.scrollTop + top, height, as: 'hovered' });
      }
      const row = picked && by === 'thread' ? rows.find(({ band }) => band.id === picked.thread) : undefined;
      if (row && picked) {
        outlines.push({ time: { from: picked.start_ns, to: picked.end_ns }, ...stateBox(row), as: 'picked' });
      }
      outlines.push(...pieces.flatMap((piece) => outlineOf(piece, rows, scene.scrollTop)));
      const drawn = [...arrows, ...steps.map((arrow) => ({ arrow, strong: true }))];
      const sheet = { view: scene.view, width, height, scrollTop: scene.scrollTop };
      paintOverlay(context, {
        view: scene.view,
        width,
        height,
        palette: palette(theme),
        mark: scene.mark ?? mark,
        range,
        excluded,
        outlines,
        arrows: drawn.flatMap(({ arrow, strong }) =>
          arrowShapes([arrow], rows, sheet).map((shape) => ({ shape, strong })),
        ),
        cursor: x,
      });
    },
    { follows: 'pointer', transparent: true },
  );
  return (
    <>
      <canvas ref={canvas} className="tl-layer tl-pointer" {...pointer} onContextMenu={menu} />
      {mark && <SelectionMenu range={mark} />}
      <HoverLine scene={scene} hovered={hovered} interval={interval} />
    </>
  );
}

/** The place of a band's state, px on the canvas. */
function stateBoxOf(row: BandRow, scrollTop: number): { top: number; height: number } {
  const { state, stateHeight } = bandParts(row.stateHeight);
  return { top: row.top - scrollTop + state, height: stateHeight };
}

interface DrawnPiece {
  thread: number;
  time: { from: number; to: number };
  as: 'piece' | 'between';
}

/** The pieces of a chain, the waits between them, and the arrows from one to the next. */
function drawnChain(chain: WaitChain | null, picked: IntervalInfo | null) {
  if (!chain || !picked) return { pieces: [], steps: [] };
  const drawn = (as: DrawnPiece['as']) => (part: WaitChain['waits'][number] | WaitChain['pieces'][number]) => ({
    thread: part.thread,
    time: { from: part.start_ns, to: part.end_ns },
    as,
  });
  const pieces: DrawnPiece[] = [...chain.waits.map(drawn('between')), ...chain.pieces.map(drawn('piece'))];
  return { pieces, steps: chainArrows(chain, picked.end_ns) };
}

/** The outline of a piece, where its thread has a band. */
function outlineOf({ thread, time, as }: DrawnPiece, rows: readonly BandRow[], scrollTop: number) {
  const row = rows.find(({ band }) => band.id === thread);
  return row ? [{ time, as, ...stateBoxOf(row, scrollTop) }] : [];
}

/** The actions on the selected range; stays at its right end while the view moves. */
function SelectionMenu({ range }: { range: { from: number; to: number } }) {
  const { scene } = useSetting();
  const dispatch = useDispatch();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    return scene.onFrame(() => {
      if (!box.current) return;
      const [x0, x1] = [xOf(range.from, scene.view, scene.width), xOf(range.to, scene.view, scene.width)];
      box.current.hidden = scene.mark !== null || x1 < 0 || x0 > scene.width;
      const left = Math.max(0, Math.min(x1 + 6, scene.width - box.current.offsetWidth - 4));
      box.current.style.transform = `translate(${Math.round(left)}px, 6px)`;
    });
  }, [scene, range]);
  return (
    <div
      ref={box}
      className="tl-menu"
      role="toolbar"
      aria-label={t('menu.selection', { span: span(range.from, range.to) })}
    >
      <span className="faint">{span(range.from, range.to)}</span>
      <button type="button" onClick={() => dispatch({ zoom: range, mark: null })}>
        {t('menu.zoom')} <kbd>z</kbd>
      </button>
      <button type="button" onClick={() => dispatch((state) => filterInRange(state, range))}>
        {t('filter.in.selection')} <kbd>f</kbd>
      </button>
      <button type="button" onClick={() => dispatch((state) => explainRange(state, range))}>
        {t('explain.selection')}
      </button>
      <button type="button" onClick={() => dispatch((state) => filterOutRange(state, range))}>
        {t('filter.out')} <kbd>F</kbd>
      </button>
      <button
        type="button"
        className="quiet"
        aria-label={t('menu.drop')}
        data-tip={t('menu.drop')}
        onClick={() => dispatch({ mark: null }, 'touch')}
      >
        ×
      </button>
    </div>
  );
}
