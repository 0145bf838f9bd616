// Sync Objects: what was waited on, how long, and how the waits' lengths are distributed.

import { t } from '../base/texts';
import { useDispatch, useView } from '../state/provider';
import { useReportView } from '../state/resource';
import { field, ReportGrid, reportCsv } from './grid/report-grid';
import { Notes } from './parts/notes';
import { Loaded } from './parts/states';
import { CopyButton, SearchField, Toolbar } from './parts/toolbar';

export default function ObjectsView() {
  const search = useView((state) => state.search);
  const chosen = useView((state) => state.object);
  const dispatch = useDispatch();
  const waits = useReportView('waits');
  return (
    <section className="pane" aria-label={t('tab.objects')}>
      <Toolbar>
        <SearchField />
        <span className="grow" />
        {waits.data && <Notes notes={waits.data.notes} />}
        {waits.data && <CopyButton label={t('copy.csv')} text={() => (waits.data ? reportCsv(waits.data) : '')} />}
      </Toolbar>
      <Loaded of={waits}>
        {(document) => (
          <ReportGrid
            name="objects"
            label={t('tab.objects')}
            document={document}
            hidden={['wait_ns', 'created_at', 'top_waker_stack']}
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
