// Top-down Tree: from the start of the threads to where they spend their time, self and total.

import { t } from '../base/texts';
import { useDispatch, useView } from '../state/provider';
import { useReportView } from '../state/resource';
import { field, ReportGrid, reportCsv } from './grid/report-grid';
import { Notes } from './parts/notes';
import { Loaded } from './parts/states';
import { CopyButton, SearchField, Toolbar } from './parts/toolbar';

export default function TopDownView() {
  const search = useView((state) => state.search);
  const dispatch = useDispatch();
  const tree = useReportView('top-down');
  return (
    <section className="pane" aria-label={t('tab.top-down')}>
      <Toolbar>
        <SearchField />
        <span className="grow" />
        {tree.data && <Notes notes={tree.data.notes} />}
        {tree.data && <CopyButton label={t('copy.csv')} text={() => (tree.data ? reportCsv(tree.data) : '')} />}
      </Toolbar>
      <Loaded of={tree}>
        {(document) => (
          <ReportGrid
            name="top-down"
            label={t('tab.top-down')}
            document={document}
            search={search}
            onOpen={(row) => dispatch({ tab: 'caller-callee', function: String(field(document, row, 'function')) })}
          />
        )}
      </Loaded>
    </section>
  );
}
