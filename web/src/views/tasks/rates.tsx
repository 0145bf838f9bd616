// The histogram of frame rates, with slow, good and fast frames.

import type { ViewDocument } from '../../api/types';
import { t } from '../../base/texts';
import { count, real } from '../../base/units';
import { type RateBin, rateBars, SPEED_CLASSES, type Speed } from '../../logic/frame-rates';
import type { ReportRow } from '../../logic/report-tree';
import { field } from '../grid/report-grid';
import { useSize } from '../parts/canvas';

const PLOT = 110;
const AXIS = 18;
const SPEEDS: readonly Speed[] = ['slow', 'good', 'fast'];

export function FrameRates({ document, row }: { document: ViewDocument; row: ReportRow }) {
  const { box, size } = useSize<HTMLDivElement>();
  const number = (id: string) => Number(field(document, row, id) ?? 0);
  const counts = { slow: number('slow_count'), good: number('good_count'), fast: number('fast_count') };
  const bins = field(document, row, 'histogram');
  const bars = rateBars(Array.isArray(bins) ? (bins as RateBin[]) : [], counts);
  const step = size.width / Math.max(bars.length, 1);
  const names = SPEEDS.map((speed) => `${t(`frames.${speed}`)} ${count(counts[speed])}`);
  return (
    <figure className="histogram frame-rates">
      <figcaption>{t('frames.rates', { name: String(row.values[0]) })}</figcaption>
      <div ref={box}>
        <svg width={size.width} height={PLOT + AXIS} role="img" aria-label={names.join(', ')}>
          {bars.map(({ from_rate: from, to_rate: to, count: frames, speed, height }, at) => (
            <g key={from} data-tip={t('frames.bar', { from: real(from), to: real(to), count: count(frames) })}>
              <rect className="histogram-room" x={at * step} y={0} width={step} height={PLOT} />
              <rect
                className={`fill-${SPEED_CLASSES[speed]}`}
                x={at * step + 1}
                width={Math.max(step - 2, 1)}
                y={PLOT * (1 - height)}
                height={PLOT * height}
              />
              {at % Math.max(1, Math.ceil(48 / Math.max(step, 1))) === 0 && (
                <text x={at * step + 2} y={PLOT + 13}>
                  {real(from)}
                </text>
              )}
            </g>
          ))}
          <line className="histogram-axis" x1={0} x2={size.width} y1={PLOT} y2={PLOT} />
        </svg>
      </div>
      <p className="shares">
        {SPEEDS.map((speed, at) => (
          <span key={speed}>
            <i className={`swatch fill-${SPEED_CLASSES[speed]}`} /> {names[at]}
          </span>
        ))}
      </p>
    </figure>
  );
}
