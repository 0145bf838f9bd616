// The lengths by percentile, as in HdrHistogram: each nine has the same width.

import type { LatencyPane } from '../../api/types';
import { t } from '../../base/texts';
import { count, duration } from '../../base/units';
import { percentileCurve } from '../../logic/latency';
import { useSize } from '../parts/canvas';
import { Empty } from '../parts/states';

const LEFT = 58;
const RIGHT = 22;
const TOP = 10;
const AXIS = 20;

export function Percentiles({ pane }: { pane: LatencyPane }) {
  const { box, size } = useSize<HTMLDivElement>();
  if (pane.count === 0) return <Empty>{t('latency.none')}</Empty>;
  const width = Math.max(size.width - LEFT - RIGHT, 50);
  const bottom = Math.max(size.height - AXIS - 6, TOP + 40);
  const { path, axis, ticks, x } = percentileCurve(pane, { width, top: TOP, bottom });
  const steps = pane.percentiles;
  return (
    <div ref={box} className="latency-plot">
      {size.width > 0 && (
        <svg width={size.width} height={bottom + AXIS} role="img" aria-label={describe(pane)}>
          <g transform={`translate(${LEFT} 0)`}>
            {axis.ticks.map(({ ns, y }) => (
              <g key={ns}>
                <line x1={0} x2={width} y1={y} y2={y} className="wait-tick" />
                <text x={-6} y={y + 4} textAnchor="end">
                  {duration(ns).replace(/\.0+ /, ' ')}
                </text>
              </g>
            ))}
            {ticks.map(({ label, x: at }) => (
              <g key={label}>
                <line x1={at} x2={at} y1={TOP} y2={bottom} className="wait-tick" />
                <text x={at} y={bottom + 14} textAnchor="middle">
                  {label}
                </text>
              </g>
            ))}
            <line x1={0} x2={width} y1={axis.y(pane.limit_ns)} y2={axis.y(pane.limit_ns)} className="outlier-limit" />
            <path d={path} className="percentile-curve" />
            {steps.map(([part, ns], at) => {
              const next = steps[at + 1]?.[0] ?? 1;
              return (
                <rect
                  key={part}
                  className="histogram-room"
                  x={x(part)}
                  width={Math.max(x(next) - x(part), 1)}
                  y={TOP}
                  height={bottom - TOP}
                  data-tip={`${percentText(part)}: ${duration(ns)}`}
                />
              );
            })}
          </g>
        </svg>
      )}
    </div>
  );
}

/** `99.902 %`, with as many digits as tell it from 100. */
function percentText(part: number): string {
  const digits = part === 1 ? 0 : Math.min(6, Math.max(1, Math.ceil(-Math.log10(1 - part))));
  return `${(part * 100).toFixed(digits)} %`;
}

function describe({ interval, count: intervals, percentiles }: LatencyPane): string {
  const at = (wanted: number) => percentiles.find(([part]) => part >= wanted)?.[1] ?? 0;
  return `${interval}: ${count(intervals)}; 50 %: ${duration(at(0.5))}; 99 %: ${duration(at(0.99))}; 100 %: ${duration(at(1))}`;
}
