// A finding's evidence as small charts: lengths of waits, threads over time, shares.

import type { Charts, Histogram } from '../../api/types';
import { t, title } from '../../base/texts';
import { count, duration, instant, percent, real } from '../../base/units';
import { type Evidence, evidenceOf, type Finding } from '../../logic/evidence';
import { layoutWaits } from '../../logic/wait-histogram';
import { anyOf, only } from '../../state/actions';
import { useCall, useReport } from '../../state/resource';

const WIDTH = 280;
const PLOT = 44;
const TEXT = 14;

export function EvidenceCharts({ finding }: { finding: Finding }) {
  const charts = evidenceOf(finding);
  if (charts.length === 0) return null;
  return (
    <div className="evidence">
      {charts.map((evidence) => (
        <Chart key={evidence.kind} evidence={evidence} finding={finding} />
      ))}
    </div>
  );
}

function Chart({ evidence, finding }: { evidence: Evidence; finding: Finding }) {
  switch (evidence.kind) {
    case 'waits':
      return <Waits filter={evidence} />;
    case 'cpu-share':
      return <CpuShare part={finding.cost_ns ?? 0} />;
    case 'concurrency':
      return <Concurrency finding={finding} />;
  }
}

function useWaits({ key, value }: { key: string; value: string }): Histogram | undefined {
  // The histogram of one object has its own call; the server computes those of every object at once.
  const byName = key === 'object';
  return useCall('histogram', {
    params: { of: 'wait', object: byName ? value : '' },
    change: (state) => (byName ? anyOf(state, key) : only(state, key, value)),
  }).data;
}

/** The number upwards, the time downwards, as in Sync Objects. */
function Waits({ filter }: { filter: { key: string; value: string } }) {
  const histogram = useWaits(filter);
  const layout = layoutWaits(histogram ?? { bins: [], humps: [] }, WIDTH);
  const name = ({ centreNs, count: waits }: (typeof layout.humps)[number]) =>
    t('histogram.hump', { length: duration(Math.round(centreNs)), count: count(waits) });
  const middle = TEXT + PLOT / 2;
  return (
    <svg
      width={WIDTH}
      height={TEXT + PLOT + TEXT}
      role="img"
      aria-label={`${t('histogram.title')}: ${layout.humps.map(name).join('; ')}`}
    >
      {layout.bars.map(({ fromNs, x, width, up, down }) => (
        <g key={fromNs}>
          <rect className="wait-count" x={x} width={width} y={middle - (up * PLOT) / 2} height={(up * PLOT) / 2} />
          <rect className="wait-time" x={x} width={width} y={middle} height={(down * PLOT) / 2} />
        </g>
      ))}
      <line className="histogram-axis" x1={0} x2={WIDTH} y1={middle} y2={middle} />
      {histogram &&
        layout.ticks
          .filter(({ x }) => x > 16 && x < WIDTH - 20)
          .map(({ ns, x }) => (
            <text key={ns} x={x} y={TEXT + PLOT + 11} textAnchor="middle">
              {duration(ns).replace(/\.0+ /, ' ')}
            </text>
          ))}
      {layout.humps
        .filter(({ line }) => line === 0)
        .map((hump) => (
          <text key={hump.centreNs} className="hump" x={hump.x} y={10} textAnchor="middle">
            {name(hump)}
          </text>
        ))}
    </svg>
  );
}

function CpuShare({ part }: { part: number }) {
  const summary = useReport('summary');
  return <Share part={part} whole={Number(summary.data?.cpu_ns ?? 0)} of={title('cpu_ns', 'CPU Time')} />;
}

/** A part of a whole; draws nothing until the whole is known. */
function Share({ part, whole, of }: { part: number; whole: number; of: string }) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  const text = t('finding.share', { share: percent(share), of, whole: duration(whole) });
  return (
    <figure className="share-chart">
      <span className="bar">
        <i className="fill fill-plain" style={{ width: `${share * 100}%` }} />
      </span>
      <figcaption>{whole > 0 ? text : '\u00a0'}</figcaption>
    </figure>
  );
}

/** Ready threads and the target over the time of the view, with the finding's own time marked. */
function Concurrency({ finding: { from_ns: from, to_ns: to } }: { finding: Finding }) {
  const charts = useCall('charts', { params: { width: WIDTH }, without: { time: true } }).data;
  const info = useCall('info').data;
  const series = charts?.series.find(({ id }) => id === 'concurrency');
  const target = info?.target_concurrency ?? 1;
  const most = Math.max(...(series?.mean ?? []), target, 1);
  const y = (threads: number) => TEXT + PLOT * (1 - threads / most);
  const span = charts ? charts.to - charts.from : 1;
  const x = (ns: number) => ((ns - (charts?.from ?? 0)) / span) * WIDTH;
  return (
    <svg
      width={WIDTH}
      height={TEXT + PLOT + TEXT}
      role="img"
      aria-label={`${t('chart.concurrency')}, ${t('summary.target', { value: target })}`}
    >
      {from != null && to != null && (
        <rect className="brush" x={x(from)} width={Math.max(1, x(to) - x(from))} y={TEXT} height={PLOT} />
      )}
      {series && charts && <path className="chart-area" d={area(series.mean, y)} />}
      <line className="histogram-axis" x1={0} x2={WIDTH} y1={TEXT + PLOT} y2={TEXT + PLOT} />
      <line className="target-line" x1={0} x2={WIDTH} y1={y(target)} y2={y(target)} />
      <text x={0} y={10}>
        {t('chart.concurrency')} 0 – {real(most)}
      </text>
      <text x={WIDTH} y={10} textAnchor="end">
        {t('summary.target', { value: target })}
      </text>
      {charts && <TimeEnds charts={charts} />}
    </svg>
  );
}

function TimeEnds({ charts: { from, to } }: { charts: Charts }) {
  return (
    <>
      <text x={0} y={TEXT + PLOT + 11}>
        {instant(from, (to - from) / 100)}
      </text>
      <text x={WIDTH} y={TEXT + PLOT + 11} textAnchor="end">
        {instant(to, (to - from) / 100)}
      </text>
    </>
  );
}

/** The area below a curve, one value per pixel. */
function area(values: readonly number[], y: (value: number) => number): string {
  const step = WIDTH / Math.max(1, values.length);
  const points = values.map(
    (value, at) => `L${(at * step).toFixed(1)} ${y(value).toFixed(1)}H${((at + 1) * step).toFixed(1)}`,
  );
  return `M0 ${y(0)}${points.join('')}L${WIDTH} ${y(0)}Z`;
}
