// Elapsed time by number of threads, with class limits to drag or to move with the arrow keys.

import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import { t } from '../../base/texts';
import { duration, percent, real } from '../../base/units';
import { average, classShares, DEFAULT_THRESHOLDS, layoutHistogram, moveLimit } from '../../logic/class-histogram';
import { useDispatch, useView } from '../../state/provider';
import type { Thresholds } from '../../state/view-state';

const HEIGHT = 120;
const AXIS = 18;
const TOP = 22;

interface Props {
  heading: string;
  values: readonly number[];
  target: number;
  width: number;
  /** Label of the line at T. */
  targetText: string;
}

export function ClassHistogramChart({ heading, values, target, width, targetText }: Props) {
  const kept = useView((state) => state.thresholds) ?? DEFAULT_THRESHOLDS;
  const [dragged, setDragged] = useState<Thresholds | null>(null);
  const limits = dragged ?? kept;
  const chart = layoutHistogram(values, target, limits, width);
  const total = values.reduce((sum, ns) => sum + ns, 0);
  const mean = average(values);
  const shares = classShares(values, target, limits).filter(([, share]) => share > 0);
  return (
    <figure className="histogram">
      <figcaption data-tip={t('summary.histogram.help')}>
        {heading} <span className="faint">{t('summary.average', { value: real(mean) })}</span>
      </figcaption>
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing that contains sliders. */}
      <svg width={width} height={TOP + HEIGHT + AXIS} role="group" aria-label={describe(heading, shares, mean)}>
        {chart.bars.map(({ from, to, ns, name, x, width: wide, height }) => (
          <g
            key={from}
            data-tip={`${from === to ? from : `${from}–${to}`}: ${duration(ns)}, ${percent(total ? ns / total : 0)}`}
          >
            <rect x={x} y={TOP} width={wide} height={HEIGHT} className="histogram-room" />
            <rect
              x={x}
              y={TOP + HEIGHT * (1 - height)}
              width={wide}
              height={HEIGHT * height}
              className={`fill-${name}`}
            />
          </g>
        ))}
        <line x1={0} x2={width} y1={TOP + HEIGHT} y2={TOP + HEIGHT} className="histogram-axis" />
        {chart.bars
          .filter((_, at) => at % labelStep(chart.bars.length, width) === 0)
          .map(({ from, x, width: wide }) => (
            <text key={from} x={x + wide / 2} y={TOP + HEIGHT + 13} textAnchor="middle">
              {from}
            </text>
          ))}
        <Marker
          x={chart.xOf(mean)}
          text={t('summary.average', { value: real(mean) })}
          className="mean"
          width={width}
          row={0}
        />
        <Marker x={chart.xOf(target)} text={targetText} className="target" width={width} row={1} />
        <Limits chart={chart} limits={limits} target={target} preview={setDragged} />
      </svg>
      <p className="shares">
        {shares.map(([name, share]) => (
          <span key={name}>
            <i className={`swatch fill-${name}`} /> {t(`class.${name}`)} {percent(share)}
          </span>
        ))}
      </p>
    </figure>
  );
}

function labelStep(bars: number, width: number): number {
  return Math.max(1, Math.ceil((bars * 26) / Math.max(width, 1)));
}

function describe(heading: string, shares: [string, number][], mean: number): string {
  const parts = shares.map(([name, share]) => `${t(`class.${name as 'idle'}`)} ${percent(share)}`);
  return `${heading}: ${t('summary.average', { value: real(mean) })}; ${parts.join(', ')}`;
}

function Marker(props: { x: number; text: string; className: string; width: number; row: number }) {
  const { x, text, className, width, row } = props;
  const left = x > width * 0.6;
  const y = 9 + row * 11;
  return (
    <g className={`marker marker-${className}`}>
      <line x1={x} x2={x} y1={y - 7} y2={TOP + HEIGHT} />
      <text x={left ? x - 4 : x + 4} y={y} textAnchor={left ? 'end' : 'start'}>
        {text}
      </text>
    </g>
  );
}

interface LimitsProps {
  chart: ReturnType<typeof layoutHistogram>;
  limits: Thresholds;
  target: number;
  /** Shows limits during a drag; null without one. */
  preview: (limits: Thresholds | null) => void;
}

function Limits({ chart, limits, target, preview }: LimitsProps) {
  const dispatch = useDispatch();
  const moved = useRef<Thresholds | null>(null);
  const drag = (event: PointerEvent<SVGGElement>, which: keyof Thresholds) => {
    const svg = event.currentTarget.ownerSVGElement;
    if (event.buttons !== 1 || !svg) return;
    const threads = chart.threadsAt(event.clientX - svg.getBoundingClientRect().left);
    moved.current = moveLimit(limits, which, threads - 0.5, target);
    preview(moved.current);
  };
  const drop = () => {
    if (moved.current) dispatch({ thresholds: moved.current });
    moved.current = null;
    preview(null);
  };
  const key = (event: KeyboardEvent, which: keyof Thresholds) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    dispatch({ thresholds: moveLimit(limits, which, Math.floor(limits[which] * target) + step, target) });
  };
  const last = ({ poor, ok, ideal }: Thresholds) => [poor, ok, ideal].map((limit) => Math.floor(limit * target + 1e-9));
  const numbers = last(limits);
  return (['poor', 'ok', 'ideal'] as const).map((which, order) => {
    const threads = numbers[order] ?? 0;
    // Limits after the same number stand side by side.
    const beside = numbers.slice(0, order).filter((other) => other === threads).length;
    const x = chart.xOf(threads + 0.5) + beside * 11;
    return (
      <g
        key={which}
        className="limit"
        role="slider"
        tabIndex={0}
        aria-label={`${t(`class.${which}`)} ≤`}
        aria-valuenow={threads}
        aria-valuemin={0}
        aria-valuemax={chart.bars.length * chart.step}
        transform={`translate(${x} ${TOP + HEIGHT})`}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => drag(event, which)}
        onPointerUp={drop}
        onKeyDown={(event) => key(event, which)}
        data-tip={`${t(`class.${which}`)} ≤ ${percent(limits[which])}`}
      >
        {beside === 0 && <line y1={-HEIGHT} y2={0} className="limit-line" />}
        <path d="M0 -1L5 6V12H-5V6Z" className={`fill-${which}`} />
      </g>
    );
  });
}
