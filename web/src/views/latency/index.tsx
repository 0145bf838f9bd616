// Latency: recurring intervals, their lengths, their outliers, and the outliers' causes.

import type { ViewDocument } from '../../api/types';
import { t } from '../../base/texts';
import { count, duration } from '../../base/units';
import { causeParts, ordered } from '../../logic/latency';
import { amount, type Parts } from '../../logic/values';
import { useDispatch, useView } from '../../state/provider';
import { useCall, useReportView } from '../../state/resource';
import { Cell } from '../grid/cell';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { LengthsChart } from '../objects/histogram';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { SearchField, Toolbar } from '../parts/toolbar';
import { Outliers } from './outliers';
import { Percentiles } from './percentiles';
import { Scatter } from './scatter';

type Row = ViewDocument['rows'][number];

/** Columns that only the charts and the copies show. */
const HIDDEN = [
  'p90_ns',
  'p9999_ns',
  'unexplained_ns',
  'mean_without_outliers_ns',
  'stddev_without_outliers_ns',
  'kind',
  'outlier_limit_ns',
];

export default function LatencyView() {
  const interval = useView((state) => state.interval);
  const pane = useCall('latency', { params: { subject: interval } });
  return (
    <Split name="latency" second="below" size={0.52} least={100}>
      <Split name="latency-curve" second="right" size={0.36} least={260}>
        <Types chosen={pane.data?.interval ?? interval} />
        <section className="pane" aria-label={t('latency.percentiles')}>
          <Toolbar>
            <strong className="ellipsis">{pane.data?.interval}</strong>
            <span className="faint">{t('latency.percentiles')}</span>
          </Toolbar>
          <Loaded of={pane}>{(data) => <Percentiles pane={data} />}</Loaded>
        </section>
      </Split>
      <Split name="latency-outliers" second="right" size={0.5} least={300}>
        <section className="pane" aria-label={t('latency.over-time')}>
          <Toolbar>
            <strong className="ellipsis">{t('latency.over-time')}</strong>
            {pane.data && (
              <span className="faint">
                {t('latency.counts', {
                  intervals: count(pane.data.count),
                  limit: duration(pane.data.limit_ns),
                })}
              </span>
            )}
          </Toolbar>
          <Loaded of={pane}>
            {(data) => (
              <div className="latency-drawings">
                <Scatter pane={data} />
                <LengthsChart histogram={data.lengths} waits={false} limitNs={data.limit_ns} />
              </div>
            )}
          </Loaded>
        </section>
        <Outliers pane={pane} />
      </Split>
    </Split>
  );
}

function Types({ chosen }: { chosen: string }) {
  const search = useView((state) => state.search);
  const dispatch = useDispatch();
  const types = useReportView('latency', { params: { limit: 200 } });
  return (
    <section className="pane" aria-label={t('tab.latency')}>
      <ReportToolbar of={types.data}>
        <SearchField />
      </ReportToolbar>
      <Loaded of={types}>
        {(document) => (
          <ReportGrid
            name="latency"
            label={t('tab.latency')}
            document={document}
            hidden={HIDDEN}
            search={search}
            show={(column, row) => (column === 'outlier_ns' ? outlierTime(document, row) : undefined)}
            selected={(row) => field(document, row, 'interval') === chosen}
            onSelect={(row) => dispatch({ interval: String(field(document, row, 'interval')), outlier: '' }, 'touch')}
            empty={t('latency.none')}
          />
        )}
      </Loaded>
    </section>
  );
}

/** The time of a type's outliers as a bar of its causes, as long as the longest of all types. */
function outlierTime(document: ViewDocument, row: Row) {
  const parts = (of: Row): Parts =>
    ordered(causeParts(field(document, of, 'causes'), Number(field(document, of, 'unexplained_ns'))));
  const full = Math.max(...document.rows.map((each) => amount(parts(each)) ?? 0), 1);
  return <Cell kind="parts" value={parts(row)} full={full} total={null} style="bar-number" />;
}
