// The timeline. Below the other views (`strip`) it shows the whole time with what is filtered in; as the Platform tab
// (`full`) all of it.

import { useLayoutEffect, useRef, useState } from 'react';
import { t } from '../../base/texts';
import { instant, real } from '../../base/units';
import { useView } from '../../state/provider';
import { useReport } from '../../state/resource';
import { Loaded } from '../parts/states';

const BINS = 300;

export default function TimelinePane({ mode }: { mode: 'strip' | 'full' }) {
  const range = useView((state) => state.range);
  const bins = useReport('timeline', { params: { bins: BINS }, without: { time: true } });
  return (
    <div className={`timeline timeline-${mode}`}>
      <Loaded of={bins} rows={2}>
        {({ rows = [] }) => <Overview rows={rows} range={range} />}
      </Loaded>
    </div>
  );
}

interface OverviewProps {
  rows: Record<string, unknown>[];
  range: { from: number; to: number } | null;
}

function Overview({ rows, range }: OverviewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setSize(entry.contentRect));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const elapsed = rows.reduce((sum, row) => sum + Number(row.length_ns), 0);
  const most = Math.max(...rows.map((row) => Number(row.avg_concurrency)), 1e-9);
  const x = (ns: number) => (ns / Math.max(elapsed, 1)) * size.width;
  return (
    <div ref={box} className="overview">
      <svg width={size.width} height={size.height} role="img" aria-label={t('pane.timeline')}>
        {rows.map((row) => {
          const [start, length] = [Number(row.start_ns), Number(row.length_ns)];
          const tip = `${instant(start, length)}: ${real(Number(row.avg_running))}`;
          const bar = (value: number, name: string) => {
            const height = (value / most) * size.height;
            return (
              <rect
                x={x(start)}
                width={Math.max(1, x(length))}
                y={size.height - height}
                height={height}
                className={name}
              />
            );
          };
          return (
            <g key={start} data-tip={tip}>
              {bar(Number(row.avg_concurrency), 'fill-preempted')}
              {bar(Number(row.avg_running), 'fill-running')}
            </g>
          );
        })}
        {range && (
          <rect
            x={x(range.from)}
            width={x(range.to - range.from)}
            y={0}
            height={size.height}
            className="overview-range"
          />
        )}
      </svg>
    </div>
  );
}
