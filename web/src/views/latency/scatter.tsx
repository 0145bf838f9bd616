// Each interval at its start time and length; outliers have the colour of their main cause, and can be chosen.

import type { MouseEvent } from 'react';
import type { LatencyPane } from '../../api/types';
import { causeColor } from '../../base/palette';
import { t, word } from '../../base/texts';
import { duration, instant } from '../../base/units';
import { lengthAxis } from '../../logic/latency';
import { useDispatch, useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { useSize } from '../parts/canvas';

const LEFT = 58;
const RIGHT = 10;
const TOP = 8;
const AXIS = 20;

export function Scatter({ pane }: { pane: LatencyPane }) {
  const { box, size } = useSize<HTMLDivElement>();
  const chosen = useView((state) => state.outlier);
  const range = useView((state) => state.range);
  const info = useCall('info').data;
  const dispatch = useDispatch();
  const width = Math.max(size.width - LEFT - RIGHT, 50);
  const bottom = Math.max(size.height - AXIS, TOP + 40);
  const { from, to } = range ?? { from: 0, to: info?.elapsed_ns ?? 1 };
  const x = (ns: number) => LEFT + ((ns - from) / Math.max(to - from, 1)) * width;
  const lengths = [...pane.points.map(([, ns]) => ns), ...pane.outliers.map(({ length_ns: ns }) => ns)];
  const shortest = lengths.reduce((least, ns) => Math.min(least, ns), Number.POSITIVE_INFINITY);
  const longest = lengths.reduce((most, ns) => Math.max(most, ns), 1);
  const axis = lengthAxis(Math.min(shortest, longest), longest, TOP, bottom);
  const choose = (event: MouseEvent<SVGGElement>) => {
    const id = event.target instanceof Element ? event.target.getAttribute('data-id') : null;
    if (id) dispatch({ outlier: id }, 'touch');
  };
  const step = (to - from) / 100;
  return (
    <div ref={box} className="latency-plot">
      {size.width > 0 && (
        <svg width={size.width} height={bottom + AXIS} role="img" aria-label={t('latency.over-time')}>
          {axis.ticks.map(({ ns, y }) => (
            <g key={ns}>
              <line x1={LEFT} x2={LEFT + width} y1={y} y2={y} className="wait-tick" />
              <text x={LEFT - 6} y={y + 4} textAnchor="end">
                {duration(ns).replace(/\.0+ /, ' ')}
              </text>
            </g>
          ))}
          <path className="latency-usual" d={pane.points.map(([at, ns]) => dot(x(at), axis.y(ns))).join('')} />
          <line
            x1={LEFT}
            x2={LEFT + width}
            y1={axis.y(pane.limit_ns)}
            y2={axis.y(pane.limit_ns)}
            className="outlier-limit"
          />
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the list beside it is the keyboard's way to them. */}
          <g onClick={choose}>
            {pane.outliers.map(({ id, start_ns: at, length_ns: ns, cause }) => (
              <circle
                key={id}
                data-id={id}
                cx={x(at)}
                cy={axis.y(ns)}
                r={id === chosen ? 5.5 : 3}
                className={id === chosen ? 'outlier outlier-chosen' : 'outlier'}
                style={{ fill: causeColor(cause) }}
                data-tip={`${duration(ns)} · ${word('cause', cause)} · ${instant(at, step / 100)}`}
              />
            ))}
          </g>
          <text x={LEFT} y={bottom + 14}>
            {instant(from, step)}
          </text>
          <text x={LEFT + width} y={bottom + 14} textAnchor="end">
            {instant(to, step)}
          </text>
        </svg>
      )}
    </div>
  );
}

function dot(x: number, y: number): string {
  return `M${(x - 1).toFixed(1)} ${(y - 1).toFixed(1)}h2v2h-2z`;
}
