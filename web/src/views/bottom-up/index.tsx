// Bottom-up: the time by any grouping, with the stacks of the selected row.

import { useMemo } from 'react';
import type { Info } from '../../api/types';
import { t } from '../../base/texts';
import { useDispatch, useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';
import { StackPane } from '../stack/pane';
import { ColumnMenu, NumberMenu } from '../tree/column-menu';
import { BOTTOM_UP, chosenMetrics } from '../tree/columns';
import { TreeGrid } from '../tree/tree-grid';
import { GroupingMenu } from './grouping-menu';

export default function BottomUpView() {
  const info = useCall('info');
  return (
    <Split name="stack" second="right" size={0.27} least={200}>
      <section className="pane" aria-label={t('tab.bottom-up')}>
        <Loaded of={info}>{(facts) => <GridPane info={facts} />}</Loaded>
      </section>
      <StackPane />
    </Split>
  );
}

function GridPane({ info }: { info: Info }) {
  const { chosen, groupBy, selection, search } = useView((state) => ({
    chosen: state.metrics,
    groupBy: state.groupBy,
    selection: state.selection,
    search: state.search,
  }));
  const dispatch = useDispatch();
  const metrics = useMemo(() => chosenMetrics(chosen, info.metrics, BOTTOM_UP), [chosen, info.metrics]);
  return (
    <TreeGrid
      name="bottom-up"
      label={t('tab.bottom-up')}
      groupBy={groupBy}
      metrics={metrics}
      levels={info.levels}
      search={search}
      selection={selection}
      onSelect={(path) => dispatch({ selection: path }, 'touch')}
      toolbar={() => (
        <>
          <GroupingMenu levels={info.levels} />
          <ColumnMenu known={info.metrics} shown={metrics.map(({ id }) => id)} />
          <NumberMenu />
          <SearchField />
        </>
      )}
    />
  );
}
