// Top-down Tree: from the threads' entry functions to the functions that spend the time, self and total.

import { useMemo } from 'react';
import type { Info } from '../api/types';
import { t } from '../base/texts';
import { CALLEES } from '../logic/grouping';
import { useDispatch, useView } from '../state/provider';
import { useCall } from '../state/resource';
import { Loaded } from './parts/states';
import { SearchField } from './parts/toolbar';
import { ColumnMenu, NumberMenu } from './tree/column-menu';
import { CALLS, chosenMetrics } from './tree/columns';
import { TreeGrid } from './tree/tree-grid';

export default function TopDownView() {
  const info = useCall('info');
  return (
    <section className="pane" aria-label={t('tab.top-down')}>
      <Loaded of={info}>{(facts) => <Callees info={facts} />}</Loaded>
    </section>
  );
}

const FROM_THE_TOP = [CALLEES];

function Callees({ info }: { info: Info }) {
  const { chosen, selection, search } = useView((state) => ({
    chosen: state.metrics,
    selection: state.callees,
    search: state.search,
  }));
  const dispatch = useDispatch();
  const metrics = useMemo(() => chosenMetrics(chosen, info.metrics, CALLS), [chosen, info.metrics]);
  return (
    <TreeGrid
      name="top-down"
      label={t('tab.top-down')}
      groupBy={FROM_THE_TOP}
      metrics={metrics}
      levels={info.levels}
      self
      search={search}
      selection={selection}
      onSelect={(path) => dispatch({ callees: path }, 'touch')}
      onOpen={({ label }) => dispatch({ tab: 'caller-callee', function: label })}
      toolbar={() => (
        <>
          <ColumnMenu known={info.metrics} shown={metrics.map(({ id }) => id)} />
          <NumberMenu />
          <SearchField />
        </>
      )}
    />
  );
}
