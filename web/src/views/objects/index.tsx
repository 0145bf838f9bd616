// Sync Objects: the objects that threads waited on, the wait times, the distribution of the lengths, and the stacks.

import { t } from '../../base/texts';
import { useDispatch, useView } from '../../state/provider';
import { useReportView } from '../../state/resource';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { FilterIn } from '../parts/filter-in';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';
import { StackPane } from '../stack/pane';
import { WaitHistogramPane } from './histogram';

export default function ObjectsView() {
  const object = useView((state) => state.object);
  return (
    <Split name="objects" second="right" size={0.29} least={260}>
      <Objects />
      <Split name="objects-stack" second="below" size={0.46} least={80}>
        <WaitHistogramPane object={object} />
        <StackPane object={object} />
      </Split>
    </Split>
  );
}

function Objects() {
  const search = useView((state) => state.search);
  const chosen = useView((state) => state.object);
  const dispatch = useDispatch();
  const waits = useReportView('waits');
  return (
    <section className="pane" aria-label={t('tab.objects')}>
      <ReportToolbar of={waits.data}>
        <SearchField />
        <FilterIn by="object" value={chosen || null} />
        <button type="button" disabled={chosen === ''} onClick={() => dispatch({ tab: 'blame' })}>
          {t('link.blame')}
        </button>
      </ReportToolbar>
      <Loaded of={waits}>
        {(document) => (
          <ReportGrid
            name="objects"
            label={t('tab.objects')}
            document={document}
            hidden={['wait_ns', 'wait_poor_ns', 'created_at', 'top_stack', 'top_waker_stack']}
            search={search}
            selected={(row) => field(document, row, 'object') === chosen}
            onSelect={(row) => dispatch({ object: String(field(document, row, 'object')) }, 'touch')}
            onOpen={(row) => dispatch({ tab: 'blame', object: String(field(document, row, 'object')) })}
            empty={t('empty.waits')}
          />
        )}
      </Loaded>
    </section>
  );
}
