// Caller/Callee: every function with self and total time on the left; the trees of callers and callees of the chosen one.

import { useMemo, useState } from 'react';
import type { Info, MetricInfo } from '../api/types';
import { help, t, title } from '../base/texts';
import { duration } from '../base/units';
import { ALL_FUNCTIONS, CALLEES, CALLERS } from '../logic/grouping';
import type { Tree } from '../logic/tree';
import { useDispatch, useView } from '../state/provider';
import { useCall, useReport } from '../state/resource';
import { Split } from './parts/split';
import { Empty, Loaded } from './parts/states';
import { SearchField } from './parts/toolbar';
import { ColumnMenu, NumberMenu } from './tree/column-menu';
import { CALLS, chosenMetrics, SELF } from './tree/columns';
import { TreeGrid } from './tree/tree-grid';

export default function CallerCalleeView() {
  const info = useCall('info');
  return <Loaded of={info}>{(facts) => <Panes info={facts} />}</Loaded>;
}

function Panes({ info }: { info: Info }) {
  const chosen = useView((state) => state.metrics);
  const wanted = useView((state) => state.function);
  const hottest = useReport('hotspots', { params: { limit: 1 }, when: wanted === '' });
  const name = wanted || String(hottest.data?.rows?.[0]?.function ?? '');
  const metrics = useMemo(() => chosenMetrics(chosen, info.metrics, CALLS), [chosen, info.metrics]);
  return (
    <Split name="caller-callee" second="right" size={0.46} least={240}>
      <Functions info={info} metrics={metrics} name={wanted} />
      {name === '' ? (
        <Empty>{hottest.loading ? '' : t('caller.choose')}</Empty>
      ) : (
        <Split key={name} name="callees" second="below" size={0.5} least={80}>
          <Around name={name} way={CALLERS} info={info} metrics={metrics} />
          <Around name={name} way={CALLEES} info={info} metrics={metrics} />
        </Split>
      )}
    </Split>
  );
}

interface PaneProps {
  info: Info;
  metrics: MetricInfo[];
}

const EVERY = [ALL_FUNCTIONS];

function Functions({ info, metrics, name }: PaneProps & { name: string }) {
  const dispatch = useDispatch();
  // The grid selects by key, a link by the function's name.
  const [row, setRow] = useState<string[]>([]);
  const search = useView((state) => state.search);
  return (
    <section className="pane" aria-label={t('tab.caller-callee')}>
      <TreeGrid
        name="functions"
        label={t('tab.caller-callee')}
        groupBy={EVERY}
        metrics={metrics}
        levels={info.levels}
        self
        search={search}
        selection={row}
        chosen={name}
        toolbar={() => (
          <>
            <ColumnMenu known={info.metrics} shown={metrics.map(({ id }) => id)} />
            <NumberMenu />
            <SearchField />
          </>
        )}
        onSelect={(path, { label }) => {
          setRow(path);
          dispatch({ function: label }, 'touch');
        }}
      />
    </section>
  );
}

interface AroundProps extends PaneProps {
  name: string;
  way: typeof CALLERS | typeof CALLEES;
}

/** The tree of callers or callees of a function. */
function Around({ name, way, info, metrics }: AroundProps) {
  const dispatch = useDispatch();
  const [selection, setSelection] = useState<string[]>([]);
  const levels = useMemo(() => [way], [way]);
  const label = way === CALLERS ? t('caller.callers', { name }) : t('caller.callees', { name });
  const empty = way === CALLERS ? t('caller.no-callers', { name }) : t('caller.no-callees', { name });
  return (
    <section className="pane" aria-label={label}>
      <TreeGrid
        name={way}
        label={label}
        groupBy={levels}
        metrics={metrics}
        levels={info.levels}
        self={way === CALLEES}
        subject={name}
        selection={selection}
        onSelect={setSelection}
        onOpen={({ label: other }) => dispatch({ function: other })}
        empty={empty}
        toolbar={(tree) => (
          <>
            <span className="faint">{way === CALLERS ? t('caller.caller') : t('caller.callee')}</span>
            <strong className="ellipsis" data-tip={name}>
              {name}
            </strong>
            {tree && way === CALLEES && <Times tree={tree} />}
          </>
        )}
      />
    </section>
  );
}

/** The function's self and total time. */
function Times({ tree }: { tree: Tree }) {
  const time = (id: string) => duration(Number(tree.total[id] ?? 0));
  return (
    <span className="faint own">
      {SELF.map(({ id, english, total }) => (
        <span key={id} data-tip={help(id, english)}>
          {title(total.id, total.english)} {time(total.id)}
          {tree.total[id] !== undefined && `, ${t('flame.self', { self: time(id) })}`}
        </span>
      ))}
    </span>
  );
}
