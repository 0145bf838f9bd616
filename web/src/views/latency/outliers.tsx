// The outliers, the longest first, each with its causes; above them the story of the chosen one.

import type { LatencyPane } from '../../api/types';
import { causeColor } from '../../base/palette';
import { t, title, word } from '../../base/texts';
import { duration } from '../../base/units';
import { tableCsv, tableText } from '../../logic/copy';
import { ordered, showOutlier } from '../../logic/latency';
import { exactTime } from '../../logic/timeline/axis';
import { amount } from '../../logic/values';
import { useDispatch, useView } from '../../state/provider';
import { type Resource, useCall } from '../../state/resource';
import { Cell } from '../grid/cell';
import { Grid, type GridColumn, titleWidth } from '../grid/grid';
import { Empty, Loaded } from '../parts/states';
import { CopyMenu, Toolbar } from '../parts/toolbar';
import { Story } from './story';

type Outlier = LatencyPane['outliers'][number];

export function Outliers({ pane }: { pane: Resource<LatencyPane> }) {
  const chosen = useView((state) => state.outlier);
  const info = useCall('info').data;
  const dispatch = useDispatch();
  const outlier = pane.data?.outliers.find(({ id }) => id === chosen);
  const show = (of: Outlier | undefined) => of && info && dispatch((state) => showOutlier(state, of, info));
  return (
    <section className="pane" aria-label={t('latency.outliers')}>
      <Toolbar>
        <strong>{t('latency.outliers')}</strong>
        <button type="button" disabled={!outlier} onClick={() => show(outlier)}>
          {t('sockets.show-wait')} <kbd>↵</kbd>
        </button>
        <span className="grow" />
        {pane.data && <OutlierCopy of={pane.data.outliers} />}
      </Toolbar>
      {outlier && <Story id={outlier.id} />}
      <Loaded of={pane}>{(data) => <List outliers={data.outliers} chosen={chosen} show={show} />}</Loaded>
    </section>
  );
}

interface ListProps {
  outliers: Outlier[];
  chosen: string;
  show: (outlier: Outlier | undefined) => void;
}

function List({ outliers, chosen, show }: ListProps) {
  const dispatch = useDispatch();
  const threads = useCall('info').data?.threads ?? [];
  if (outliers.length === 0) return <Empty>{t('latency.no-outliers')}</Empty>;
  const full = outliers.reduce((most, { causes }) => Math.max(most, amount(causes) ?? 0), 1);
  const cells = (outlier: Outlier) => [
    <button key="start" type="button" className="link" tabIndex={-1} onClick={() => show(outlier)}>
      {exactTime(outlier.start_ns)}
    </button>,
    <Cell key="length" kind="ns" value={outlier.length_ns} full={0} total={null} style="time" />,
    <span key="cause">
      <i className="swatch" style={{ background: causeColor(outlier.cause) }} /> {word('cause', outlier.cause)}
    </span>,
    <Cell key="causes" kind="parts" value={ordered(outlier.causes)} full={full} total={null} style="bar-number" />,
    <span key="thread" className="cell-text">
      {threads.find(({ id }) => id === outlier.thread)?.name}
    </span>,
  ];
  return (
    <Grid
      name="outliers"
      label={t('latency.outliers')}
      columns={columns()}
      rows={outliers.length}
      row={(index) => {
        const outlier = outliers[index];
        return { key: outlier?.id ?? '', depth: 0, expanded: null, cells: outlier ? cells(outlier) : [] };
      }}
      selected={outliers.findIndex(({ id }) => id === chosen)}
      onSelect={(index) => dispatch({ outlier: outliers[index]?.id ?? '' }, 'touch')}
      onOpen={(index) => show(outliers[index])}
    />
  );
}

function columns(): GridColumn[] {
  const column = (id: string, english: string, numeric: boolean, width: number): GridColumn => {
    const shown = title(id, english);
    return { id, title: shown, numeric, width: Math.max(width, titleWidth(shown)) };
  };
  return [
    { ...column('start_ns', 'Start', true, 140), most: 170 },
    column('length_ns', 'Length', true, 76),
    column('cause', 'Cause', false, 150),
    column('over_median', 'Over the Median', true, 170),
    { ...column('thread', 'Thread', false, 90), grow: true },
  ];
}

function OutlierCopy({ of }: { of: Outlier[] }) {
  const head = ['id', 'start_ns', 'length_ns', 'cause', 'causes'];
  const causes = (parts: Outlier['causes']) =>
    Object.entries(parts)
      .map((part) => part.join('='))
      .join(';');
  const rows = of.map(({ id, start_ns: start, length_ns: length, cause, causes: parts }) => [
    id,
    start,
    length,
    cause,
    causes(parts),
  ]);
  const text = () =>
    tableText(
      of.map(({ start_ns, length_ns, cause }) => [exactTime(start_ns), duration(length_ns), word('cause', cause)]),
    );
  return <CopyMenu text={text} csv={() => tableCsv([head, ...rows])} />;
}
