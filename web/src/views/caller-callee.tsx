// Caller/Callee: every function with self and total on the left; for the chosen one, who called it and whom it called.

import { t } from '../base/texts';
import { useDispatch, useView } from '../state/provider';
import { useReportView } from '../state/resource';
import { field, ReportGrid, reportCsv } from './grid/report-grid';
import { Split } from './parts/split';
import { Empty, Loaded } from './parts/states';
import { CopyButton, SearchField, Toolbar } from './parts/toolbar';

export default function CallerCalleeView() {
  return (
    <Split name="caller-callee" second="right" size={620} least={240}>
      <Functions />
      <Neighbours />
    </Split>
  );
}

function Functions() {
  const search = useView((state) => state.search);
  const chosen = useView((state) => state.function);
  const dispatch = useDispatch();
  const functions = useReportView('caller-callee');
  return (
    <section className="pane" aria-label={t('tab.caller-callee')}>
      <Toolbar>
        <SearchField />
        <span className="grow" />
        {functions.data && (
          <CopyButton label={t('copy.csv')} text={() => (functions.data ? reportCsv(functions.data) : '')} />
        )}
      </Toolbar>
      <Loaded of={functions}>
        {(document) => (
          <ReportGrid
            name="functions"
            label={t('tab.caller-callee')}
            document={document}
            search={search}
            selected={(row) => field(document, row, 'function') === chosen}
            onSelect={(row) => dispatch({ function: String(field(document, row, 'function')) }, 'touch')}
          />
        )}
      </Loaded>
    </section>
  );
}

function Neighbours() {
  const chosen = useView((state) => state.function);
  const dispatch = useDispatch();
  const around = useReportView('caller-callee', { params: { subject: chosen }, when: chosen !== '' });
  if (chosen === '') return <Empty>{t('caller.choose')}</Empty>;
  return (
    <section className="pane" aria-label={chosen}>
      <Toolbar>
        <strong className="ellipsis">{chosen}</strong>
      </Toolbar>
      <Loaded of={around}>
        {(document) => (
          <ReportGrid
            name="neighbours"
            label={chosen}
            document={document}
            show={(column, row) => (column === 'role' ? roleText(field(document, row, 'role')) : undefined)}
            onOpen={(row) => dispatch({ function: String(field(document, row, 'function')) })}
          />
        )}
      </Loaded>
    </section>
  );
}

function roleText(role: unknown) {
  switch (role) {
    case 'caller':
      return t('caller.caller');
    case 'callee':
      return t('caller.callee');
    default:
      return <strong>{t('caller.function')}</strong>;
  }
}
