// The lengths of the waits on an object: their number upwards, their time downwards. A brush shows the sums of a range, and
// filters by it.

import { type KeyboardEvent, type PointerEvent, useMemo, useState } from 'react';
import type { Histogram } from '../../api/types';
import { nameText } from '../../base/names';
import { t } from '../../base/texts';
import { count, duration, percent } from '../../base/units';
import { histogramRows, tableCsv, tableText } from '../../logic/copy';
import { between, brushed, humpRange, layoutWaits, lengthFilter, type WaitHistogram } from '../../logic/wait-histogram';
import { filterIn } from '../../state/actions';
import { useDispatch } from '../../state/provider';
import { useCall } from '../../state/resource';
import { useSize } from '../parts/canvas';
import { Empty, Loaded } from '../parts/states';
import { CopyMenu, Toolbar } from '../parts/toolbar';

export function WaitHistogramPane({ object }: { object: string }) {
  const [of, setOf] = useState<'wait' | 'off_cpu' | 'runnable'>('wait');
  const histogram = useCall('histogram', { params: { of, object: of === 'wait' ? object : '' } });
  return (
    <section className="pane" aria-label={t('histogram.title')}>
      <Toolbar>
        <strong className="ellipsis">{object ? nameText(object, 'object') : t('histogram.all')}</strong>
        <span className="grow" />
        <select
          aria-label={t('histogram.of')}
          value={of}
          onChange={({ target }) =>
            setOf(target.value === 'off_cpu' ? 'off_cpu' : target.value === 'runnable' ? 'runnable' : 'wait')
          }
        >
          <option value="wait">{t('histogram.wait')}</option>
          <option value="off_cpu">{t('histogram.off_cpu')}</option>
          <option value="runnable">{t('histogram.runnable')}</option>
        </select>
        {histogram.data && <HistogramCopy of={histogram.data} />}
      </Toolbar>
      <Loaded of={histogram} rows={5}>
        {(data) =>
          data.bins.length === 0 ? (
            <Empty>{t('empty.waits')}</Empty>
          ) : (
            <LengthsChart histogram={data} waits={of === 'wait'} />
          )
        }
      </Loaded>
    </section>
  );
}

export function HistogramCopy({ of }: { of: Histogram }) {
  const head = ['from_ns', 'to_ns', 'count', 'total_ns'];
  const text = () =>
    tableText(histogramRows(of).map(([from, to, waits, time]) => [...[from, to].map(ns), waits, ns(time)]));
  return <CopyMenu text={text} csv={() => tableCsv([head, ...histogramRows(of)])} />;
}

const ns = (value: unknown) => duration(Math.round(Number(value)));

const AXIS = 20;
const NAMES = 32;
/** Half the width of an axis label, px: labels that the edge would cut are left out. */
const LABEL = 22;

/** The unit of the counts, waits or Latency's intervals: prefix of the text keys. */
const NOUNS = {
  waits: { hump: 'histogram.hump', count: 'histogram.count', help: 'histogram.help' },
  intervals: { hump: 'latency.hump', count: 'latency.count', help: 'latency.help' },
} as const;
type Noun = keyof typeof NOUNS;

interface LengthsProps {
  histogram: Histogram;
  /** Whether the lengths are those of waits, which have a filter. */
  waits: boolean;
  /** Longer intervals are outliers, which the chart marks. */
  limitNs?: number;
}

export function LengthsChart({ histogram, waits, limitNs = Number.POSITIVE_INFINITY }: LengthsProps) {
  const dispatch = useDispatch();
  const of: Noun = Number.isFinite(limitNs) ? 'intervals' : 'waits';
  const { box, size } = useSize<HTMLDivElement>();
  const layout = useMemo(() => layoutWaits(histogram, Math.max(size.width, 1)), [histogram, size.width]);
  const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
  const part = brush ? brushed(layout, brush.from, brush.to) : null;
  const room = Math.max(size.height - AXIS - NAMES - 26, 40);
  const middle = NAMES + room * 0.55;
  const drag = (event: PointerEvent<SVGSVGElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    if (event.type === 'pointerdown') {
      event.currentTarget.setPointerCapture(event.pointerId);
      setBrush({ from: x, to: x });
    } else if (event.buttons === 1 && brush) setBrush({ ...brush, to: x });
  };
  const brushHump = (centreNs: number) => {
    const range = humpRange(layout, centreNs);
    if (range) setBrush({ from: layout.xOf(range.fromNs) + 1, to: layout.xOf(range.toNs) - 1 });
  };
  return (
    <div ref={box} className="wait-histogram">
      {size.width > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a drawing with labels to press.
        <svg
          width={size.width}
          height={NAMES + room + AXIS}
          role="group"
          aria-label={describe(layout, of)}
          onPointerDown={drag}
          onPointerMove={drag}
        >
          {part && <Brush layout={layout} part={part} height={NAMES + room} />}
          {layout.bars.map((bar) => (
            <g key={bar.fromNs} data-tip={barTip(bar, of)}>
              <rect x={bar.x} width={bar.width} y={NAMES} height={room} className="histogram-room" />
              <rect
                x={bar.x}
                width={bar.width}
                y={middle - bar.up * (middle - NAMES)}
                height={bar.up * (middle - NAMES)}
                className={bar.fromNs >= limitNs ? 'wait-count outlier-bar' : 'wait-count'}
              />
              <rect
                x={bar.x}
                width={bar.width}
                y={middle}
                height={bar.down * (NAMES + room - middle)}
                className="wait-time"
              />
            </g>
          ))}
          <line x1={0} x2={size.width} y1={middle} y2={middle} className="histogram-axis" />
          {layout.ticks.map(({ ns, x }) => (
            <g key={ns}>
              <line x1={x} x2={x} y1={NAMES} y2={NAMES + room} className="wait-tick" />
              {(layout.ticks.length < 3 || (x >= LABEL && x <= size.width - LABEL)) && (
                <text x={x} y={NAMES + room + 13} textAnchor="middle">
                  {tickText(ns)}
                </text>
              )}
            </g>
          ))}
          {Number.isFinite(limitNs) && (
            <line
              x1={layout.xOf(limitNs)}
              x2={layout.xOf(limitNs)}
              y1={NAMES}
              y2={NAMES + room}
              className="outlier-limit"
            />
          )}
          {layout.humps.map((hump) => (
            <HumpName key={hump.centreNs} hump={hump} of={of} choose={() => brushHump(hump.centreNs)} />
          ))}
        </svg>
      )}
      <BrushLine
        layout={layout}
        part={part}
        of={of}
        filter={waits ? (lengths) => dispatch((state) => filterIn(state, 'wait-length', lengthFilter(lengths))) : null}
        clear={() => setBrush(null)}
      />
    </div>
  );
}

/** A hump's label; a click brushes the hump. */
function HumpName({ hump, of, choose }: { hump: WaitHistogram['humps'][number]; of: Noun; choose: () => void }) {
  const { x, line, centreNs, count: waits } = hump;
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    choose();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is part of a drawing.
    <text
      role="button"
      tabIndex={0}
      x={x}
      y={11 + line * 13}
      textAnchor="middle"
      className="hump"
      data-tip={t('histogram.hump.help')}
      onPointerDown={(event) => event.stopPropagation()}
      onClick={choose}
      onKeyDown={key}
    >
      {t(NOUNS[of].hump, { length: duration(Math.round(centreNs)), count: count(waits) })}
    </text>
  );
}

/** `1 ms`, `10 µs`: decades have no decimals. */
function tickText(ns: number): string {
  return duration(Math.round(ns)).replace(/\.0+ /, ' ');
}

function barTip({ fromNs, toNs, count: waits, totalNs }: WaitHistogram['bars'][number], of: Noun): string {
  const range = `${duration(Math.round(fromNs))} – ${duration(Math.round(toNs))}`;
  return `${range}: ${t(NOUNS[of].count, { count: count(waits) })}, ${duration(totalNs)}`;
}

function describe({ humps }: WaitHistogram, of: Noun): string {
  const names = humps.map(({ centreNs, count: waits }) =>
    t(NOUNS[of].hump, { length: duration(Math.round(centreNs)), count: count(waits) }),
  );
  return `${t('histogram.title')}: ${names.join('; ')}`;
}

interface Part {
  fromNs: number;
  toNs: number;
}

function Brush({ layout, part, height }: { layout: WaitHistogram; part: Part; height: number }) {
  const [left, right] = [layout.xOf(part.fromNs), layout.xOf(part.toNs)];
  return <rect x={left} width={right - left} y={0} height={height} className="brush" />;
}

interface BrushLineProps {
  layout: WaitHistogram;
  part: Part | null;
  of: Noun;
  /** Shows only these lengths; null without such a filter. */
  filter: ((part: Part) => void) | null;
  clear: () => void;
}

/** The sums of the brushed range, or of all. */
function BrushLine({ layout, part, of, filter, clear }: BrushLineProps) {
  const whole = between(layout.bars, 0, Number.POSITIVE_INFINITY);
  if (!part) {
    return (
      <p className="brush-line faint">
        {t(NOUNS[of].help, { count: count(whole.count), time: duration(whole.totalNs) })}
      </p>
    );
  }
  const { count: waits, totalNs } = between(layout.bars, part.fromNs, part.toNs);
  const share = percent(whole.totalNs > 0 ? totalNs / whole.totalNs : 0);
  return (
    <p className="brush-line">
      {duration(part.fromNs)} – {duration(part.toNs)}: {t(NOUNS[of].count, { count: count(waits) })},{' '}
      {duration(totalNs)} ({share}){' '}
      {filter && (
        <button
          type="button"
          onClick={() => {
            filter(part);
            clear();
          }}
        >
          {t('filter.in')}
        </button>
      )}{' '}
      <button type="button" className="quiet" onClick={clear}>
        ×
      </button>
    </p>
  );
}
