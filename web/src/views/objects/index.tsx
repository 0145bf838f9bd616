// Sync Objects: what was waited on, how long, how the waits' lengths are distributed, and from where.

import { t } from '../../base/texts';
import { useKeys } from '../../logic/use-keys';
import { filterIn, filterOut } from '../../state/actions';
import { useDispatch, useView } from '../../state/provider';
import { useReportView } from '../../state/resource';
import { field, ReportCopy, ReportGrid } from '../grid/report-grid';
import { Notes } from '../parts/notes';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { SearchField, Toolbar } from '../parts/toolbar';
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
  const filter = (change: typeof filterIn) => {
    if (chosen === '') return false;
    dispatch((state) => change(state, 'object', chosen));
    return true;
  };
  useKeys({ 'filter-in': () => filter(filterIn), 'filter-out': () => filter(filterOut) });
  return (
    <section className="pane" aria-label={t('tab.objects')}>
      <Toolbar>
        <SearchField />
        <button type="button" disabled={chosen === ''} onClick={() => filter(filterIn)}>
          {t('filter.in')} <kbd>f</kbd>
        </button>
        <button type="button" disabled={chosen === ''} onClick={() => dispatch({ tab: 'blame' })}>
          {t('link.blame')}
        </button>
        <span className="grow" />
        {waits.data && <Notes of={waits.data} />}
        <ReportCopy of={waits.data} />
      </Toolbar>
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
