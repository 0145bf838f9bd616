// Requests over TCP that waited for their answers, which are recorded without an option: where nothing else of sockets was.

import { t } from '../../base/texts';
import { useView } from '../../state/provider';
import { useReportView } from '../../state/resource';
import { ReportGrid, ReportToolbar } from '../grid/report-grid';
import { Empty, Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';

export function OpenRequests() {
  const report = useReportView('open-requests');
  const search = useView((state) => state.search);
  return (
    <section className="pane" aria-label={t('tab.sockets')}>
      <ReportToolbar of={report.data}>
        <SearchField />
        <span>{t('sockets.none')}</span>
      </ReportToolbar>
      <Loaded of={report}>
        {(document) =>
          document.rows.length > 0 ? (
            <ReportGrid
              name="open-requests"
              label={t('sockets.requests')}
              document={document}
              search={search}
              empty={t('sockets.none')}
            />
          ) : (
            <Empty>{t('sockets.none')}</Empty>
          )
        }
      </Loaded>
    </section>
  );
}
