// Summary: elapsed time, where the time went, the findings, and the recording.

import { useLayoutEffect, useRef, useState } from 'react';
import type { Document, Info, Noted } from '../../api/types';
import { nameText } from '../../base/names';
import { help, t, title } from '../../base/texts';
import { count, duration, percent, real } from '../../base/units';
import type { RootCause } from '../../logic/causes';
import { tableCsv, tableText } from '../../logic/copy';
import type { ByClass } from '../../logic/values';
import { useDispatch } from '../../state/provider';
import { type Resource, useCall, useReport } from '../../state/resource';
import type { Finding } from '../findings/cards';
import { Cell } from '../grid/cell';
import { Notes } from '../parts/notes';
import { Loaded } from '../parts/states';
import { CopyMenu } from '../parts/toolbar';
import { Explanation, type Listed } from './explanation';
import { ClassHistogramChart } from './histogram';
import { Platform } from './platform';

export function SummaryView() {
  const info = useCall('info');
  const summary = useReport('summary');
  const hotspots = useReport('hotspots', { params: { limit: 6 } });
  return (
    <div className="scroll pad summary">
      <Loaded of={summary} rows={16}>
        {(document) => <Body document={document} hotspots={hotspots} info={info.data} />}
      </Loaded>
    </div>
  );
}

interface BodyProps {
  document: Document;
  hotspots: Resource<Document>;
  info: Info | undefined;
}

function Body({ document, hotspots, info }: BodyProps) {
  const causes = (document.explanation ?? []) as RootCause[];
  const findings = (document.findings ?? []) as Finding[];
  const account = {
    notes: document.explanation_notes ?? [],
    notes_parts: document.explanation_notes_parts,
  } as Noted;
  return (
    <>
      <Figures document={document} info={info} />
      <div className="summary-columns">
        <div>
          <Histograms document={document} />
          <h2>{t('summary.objects')}</h2>
          <TopObjects rows={(document.top_objects ?? []) as Row[]} info={info} />
          <h2>{t('summary.hotspots')}</h2>
          <TopFunctions of={hotspots} info={info} />
        </div>
        <div>
          <h2>{t('summary.explanation')}</h2>
          <Explanation
            causes={causes}
            account={account}
            findings={findings}
            order={(document.order ?? []) as Listed[]}
          />
          {info && <Platform info={info} summary={document} />}
        </div>
      </div>
      <div className="with-copy">
        <Notes of={document} />
        <CopyMenu text={() => figuresText(document)} csv={() => figuresCsv(document)} align="up" />
      </div>
    </>
  );
}

/** The figures as text, as on the screen. */
function figuresText(document: Document): string {
  return tableText(FIGURES.map(([id, english, format]) => [title(id, english), format(Number(document[id]))]));
}

/** Every number of the summary, exact. */
function figuresCsv(document: Document): string {
  const numbers = Object.entries(document).filter(([, value]) => typeof value === 'number');
  return tableCsv([['id', 'value'], ...numbers]);
}

type Row = Record<string, unknown>;

/** Fields of the summary in the order of the screen: id, English title. */
const FIGURES = [
  ['elapsed_ns', 'Elapsed Time', duration],
  ['cpu_ns', 'CPU Time', duration],
  ['effective_ns', 'Effective Time', duration],
  ['spin_ns', 'Spin Time', duration],
  ['overhead_ns', 'Overhead Time', duration],
  ['wait_ns', 'Wait Time', duration],
  ['wait_count', 'Wait Count', count],
  ['idle_ns', 'Idle Wait Time', duration],
  ['preemption_ns', 'Preemption Wait', duration],
  ['switches', 'Context Switches', count],
  ['oversubscription_ns', 'Oversubscription', duration],
  ['paused_ns', 'Paused Time', duration],
] as const;

/** Fields to hide when they are zero. */
const ONLY_WHEN_SOME: readonly string[] = ['paused_ns', 'oversubscription_ns', 'idle_ns'];

function Figures({ document, info }: { document: Document; info: Info | undefined }) {
  const shown = FIGURES.filter(([id]) => !ONLY_WHEN_SOME.includes(id) || Number(document[id]) > 0);
  const cpus = Number(document.cpus);
  const utilization = Number(document.cpu_utilization);
  return (
    <dl className="figures">
      {shown.map(([id, english, format]) => (
        <div key={id} data-tip={tip(id, info) ?? english} data-figure={id}>
          <dt>{title(id, english)}</dt>
          <dd>{format(Number(document[id]))}</dd>
        </div>
      ))}
      <div data-figure="cpu_utilization" data-tip={help('cpu_utilization', 'Effective time per elapsed time and CPU.')}>
        <dt>{title('cpu_utilization', 'Effective CPU Utilization')}</dt>
        <dd>
          {percent(utilization)} <small>{t('summary.of-cpus', { used: real(utilization * cpus), cpus })}</small>
        </dd>
      </div>
    </dl>
  );
}

function Histograms({ document }: { document: Document }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(box.current);
    setWidth(box.current.clientWidth);
    return () => observer.disconnect();
  }, []);
  const each = Math.max(160, Math.floor((width - 24) / 2));
  const target = Number(document.target_concurrency);
  const targetText = t('summary.target', { value: target });
  return (
    <div ref={box} className="histograms">
      {width > 0 && (
        <>
          <ClassHistogramChart
            heading={t('summary.histogram.cpu')}
            values={document.histogram_cpu as number[]}
            target={target}
            width={each}
            targetText={targetText}
          />
          <ClassHistogramChart
            heading={t('summary.histogram.concurrency')}
            values={document.histogram_concurrency as number[]}
            target={target}
            width={each}
            targetText={targetText}
          />
        </>
      )}
    </div>
  );
}

/** The definition of a column, from the metric table. */
function tip(id: string, info: Info | undefined): string | undefined {
  return help(id, info?.metrics.find((metric) => metric.id === id)?.detail ?? '') || undefined;
}

function TopObjects({ rows, info }: { rows: Row[]; info: Info | undefined }) {
  const dispatch = useDispatch();
  const full = Math.max(...rows.map((row) => Number(row.wait_ns)), 0);
  if (rows.length === 0) return <p className="faint">{t('empty.waits')}</p>;
  return (
    <table className="table">
      <thead>
        <tr>
          <th data-tip={tip('object', info)}>{title('object', 'Sync Object')}</th>
          <th data-tip={tip('type', info)}>{title('type', 'Object Type')}</th>
          <th className="wide" data-tip={tip('wait_by_class', info)}>
            {title('wait_by_class', 'Wait Time by Utilization')}
          </th>
          <th className="number" data-tip={tip('wait_count', info)}>
            {title('wait_count', 'Wait Count')}
          </th>
          <th className="number" data-tip={tip('max_wait_ns', info)}>
            {title('max_wait_ns', 'Longest Wait')}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={String(row.object)}>
            <td>
              {row.handle ? (
                <button
                  type="button"
                  className="link"
                  onClick={() => dispatch({ tab: 'objects', object: String(row.object) })}
                  data-tip={row.first_wait_at ? t('finding.where', { location: String(row.first_wait_at) }) : undefined}
                >
                  {nameText(String(row.object), 'object')}
                </button>
              ) : (
                nameText(String(row.object), 'object')
              )}
            </td>
            <td>{title(String(row.type), String(row.type))}</td>
            <td>
              <Cell kind="by_class" value={row.wait_by_class as ByClass} full={full} total={null} style="bar-number" />
            </td>
            <td className="number">{count(Number(row.wait_count))}</td>
            <td className="number">{duration(Number(row.max_wait_ns))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function TopFunctions({ of, info }: { of: Resource<Document>; info: Info | undefined }) {
  const dispatch = useDispatch();
  const open = (name: string) => dispatch({ tab: 'caller-callee', function: name });
  return (
    <Loaded of={of} rows={6}>
      {({ rows = [] }) => {
        const full = Math.max(...rows.map((row) => Number(row.cpu_ns)), 0);
        return (
          <table className="table">
            <thead>
              <tr>
                <th data-tip={tip('function', info)}>{title('function', 'Function')}</th>
                <th data-tip={tip('module', info)}>{title('module', 'Module')}</th>
                <th className="wide" data-tip={tip('cpu_ns', info)}>
                  {title('cpu_ns', 'CPU Time')}
                </th>
                <th className="number" data-tip={tip('share', info)}>
                  {title('share', 'Share')}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.function} ${row.module}`}>
                  <td>
                    <button type="button" className="link" onClick={() => open(String(row.function))}>
                      {String(row.function)}
                    </button>
                  </td>
                  <td>{String(row.module ?? '').replace(/.*\//, '')}</td>
                  <td>
                    <Cell kind="ns" value={row.cpu_ns} full={full} total={null} style="bar-number" />
                  </td>
                  <td className="number">{percent(Number(row.share))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        );
      }}
    </Loaded>
  );
}
