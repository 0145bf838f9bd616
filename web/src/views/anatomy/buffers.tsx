// The cost of a buffer by its size: one figure as a line over 64 … 65536 bytes, all figures as a table.

import type { ViewDocument } from '../../api/types';
import { t, title } from '../../base/texts';
import { bytes as bytesText, count, real } from '../../base/units';
import { bufferPlot } from '../../logic/anatomy/buffers';
import { useDispatch, useView } from '../../state/provider';
import { useTraceView } from '../../state/trace';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { useSize } from '../parts/canvas';
import { Split } from '../parts/split';
import { Empty, Loaded } from '../parts/states';
import './anatomy.css';

/** Columns without a figure of a buffer. */
const OTHERS = ['buffer_bytes', 'buffers'];
const FIRST = 'buffer_cycles';

export default function BuffersView() {
  const buffers = useTraceView('buffers');
  const measure = useView((state) => state.measure) || FIRST;
  const dispatch = useDispatch();
  const measures = (buffers.data?.columns ?? []).filter(({ id }) => !OTHERS.includes(id));
  return (
    <section className="pane" aria-label={t('tab.buffers')}>
      <ReportToolbar of={buffers.data}>
        <label>
          {t('anatomy.measure')}{' '}
          <select value={measure} onChange={({ target }) => dispatch({ measure: target.value })}>
            {measures.map(({ id, title: english }) => (
              <option key={id} value={id}>
                {title(id, english)}
              </option>
            ))}
          </select>
        </label>
      </ReportToolbar>
      <Loaded of={buffers}>
        {(data) =>
          data.rows.length === 0 ? (
            <Empty>{t('anatomy.buffers.none')}</Empty>
          ) : (
            <Split name="buffers" second="below" size={310} least={100}>
              <BufferPlot document={data} measure={measure} />
              <ReportGrid name="buffers" label={t('tab.buffers')} document={data} />
            </Split>
          )
        }
      </Loaded>
    </section>
  );
}

const LEFT = 76;
const RIGHT = 26;
const TOP = 14;
const AXIS = 22;

function BufferPlot({ document, measure }: { document: ViewDocument; measure: string }) {
  const { box, size } = useSize<HTMLDivElement>();
  const values = document.rows.map((row) => ({
    bytes: Number(field(document, row, 'buffer_bytes')),
    value: Number(field(document, row, measure)),
  }));
  const width = Math.max(size.width - LEFT - RIGHT, 50);
  const bottom = Math.max(size.height - AXIS - 6, TOP + 40);
  const { path, points, lines } = bufferPlot(values, { width, top: TOP, bottom });
  const english = document.columns.find(({ id }) => id === measure)?.title ?? measure;
  const name = t('anatomy.plot', { measure: title(measure, english) });
  const text = (value: number) => (value >= 1000 ? count(value) : real(value));
  return (
    <div ref={box} className="latency-plot">
      {size.width > 0 && (
        <svg width={size.width} height={bottom + AXIS} role="img" aria-label={name}>
          <g transform={`translate(${LEFT} 0)`}>
            {lines.map(({ value, y }) => (
              <g key={value}>
                <line x1={0} x2={width} y1={y} y2={y} className="wait-tick" />
                <text x={-6} y={y + 4} textAnchor="end">
                  {text(value)}
                </text>
              </g>
            ))}
            <path d={path} className="percentile-curve" />
            {points.map(({ bytes, value, x, y }) => (
              <g key={bytes} data-tip={`${bytesText(bytes)}: ${text(value)}`}>
                <text x={x} y={bottom + 15} textAnchor="middle">
                  {bytes}
                </text>
                <circle cx={x} cy={y} r={4} className="plot-point" />
                <rect className="histogram-room" x={x - 12} width={24} y={TOP} height={bottom - TOP} />
              </g>
            ))}
          </g>
        </svg>
      )}
    </div>
  );
}
