// Bottom-up: what costs time, grouped at will, with the stacks behind the selected row.

import { useMemo } from 'react';
import type { Info } from '../../api/types';
import { t } from '../../base/texts';
import { useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { SearchField, Toolbar } from '../parts/toolbar';
import { StackPane } from '../stack/pane';
import { ColumnMenu, NumberMenu } from './column-menu';
import { chosenMetrics } from './columns';
import { GroupingMenu } from './grouping-menu';
import { TreeGrid } from './tree-grid';

export default function BottomUpView() {
  const info = useCall('info');
  return (
    <Split name="stack" second="right" size={380} least={200}>
      <section className="pane" aria-label={t('tab.bottom-up')}>
        <Loaded of={info}>{(facts) => <GridPane info={facts} />}</Loaded>
      </section>
      <StackPane />
    </Split>
  );
}

function GridPane({ info }: { info: Info }) {
  const chosen = useView((state) => state.metrics);
  const metrics = useMemo(() => chosenMetrics(chosen, info.metrics), [chosen, info.metrics]);
  return (
    <>
      <Toolbar>
        <GroupingMenu levels={info.levels} />
        <ColumnMenu known={info.metrics} shown={metrics.map(({ id }) => id)} />
        <NumberMenu />
        <SearchField />
        <span className="grow" />
      </Toolbar>
      <TreeGrid metrics={metrics} levels={info.levels} />
    </>
  );
}
