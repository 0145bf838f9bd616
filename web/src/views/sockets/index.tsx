// Sockets: the bytes of each, the wait time and its causes, the distribution of the lengths, and each wait.

import { useMemo } from 'react';
import type { ViewDocument } from '../../api/types';
import { t, word } from '../../base/texts';
import { sumParts } from '../../logic/sockets';
import { hasSockets } from '../../logic/tabs';
import { isParts } from '../../logic/values';
import { useDispatch, useView } from '../../state/provider';
import { useCall, useReportView } from '../../state/resource';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { FilterIn } from '../parts/filter-in';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';
import { LengthsPane } from './lengths';
import { OpenRequests } from './requests';
import { Waits } from './waits';

type Row = ViewDocument['rows'][number];

export default function SocketsView() {
  const sockets = useReportView('sockets');
  const info = useCall('info');
  const chosen = useView((state) => state.socket);
  const document = sockets.data;
  const row = document?.rows.find((candidate) => String(field(document, candidate, 'id')) === chosen);
  const causes = useMemo(() => (document ? causesOf(document, row) : {}), [document, row]);
  if (document?.rows.length === 0 && info.data && !hasSockets(info.data)) return <OpenRequests />;
  const name = document && row ? label(document, row) : t('sockets.all');
  return (
    <Split name="sockets" second="below" size={0.5} least={100}>
      <Split name="sockets-lengths" second="right" size={0.34} least={260}>
        <section className="pane" aria-label={t('tab.sockets')}>
          <List document={document} row={row} />
          <Loaded of={sockets}>{(loaded) => <SocketGrid document={loaded} chosen={row} />}</Loaded>
        </section>
        <LengthsPane name={name} causes={causes} />
      </Split>
      <Waits name={name} />
    </Split>
  );
}

/** The line above the list. */
function List({ document, row }: { document: ViewDocument | undefined; row: Row | undefined }) {
  const dispatch = useDispatch();
  const object = document && row ? field(document, row, 'object') : null;
  return (
    <ReportToolbar of={document}>
      <SearchField />
      <FilterIn by="object" value={typeof object === 'string' ? object : null} />
      <button type="button" disabled={!row} onClick={() => dispatch({ socket: '' }, 'touch')}>
        {t('sockets.all')}
      </button>
    </ReportToolbar>
  );
}

function SocketGrid({ document, chosen }: { document: ViewDocument; chosen: Row | undefined }) {
  const search = useView((state) => state.search);
  const dispatch = useDispatch();
  return (
    <ReportGrid
      name="sockets"
      label={t('tab.sockets')}
      document={document}
      hidden={['id', 'object', 'wait_ns']}
      search={search}
      show={(column, row) => (column === 'protocol' ? protocolName(field(document, row, column)) : undefined)}
      selected={(row) => row === chosen}
      onSelect={(row) => dispatch({ socket: String(field(document, row, 'id')) }, 'touch')}
      empty={t('sockets.unused')}
    />
  );
}

function protocolName(id: unknown): string {
  return word('protocol', String(id));
}

/** `127.0.0.1:40000 → 127.0.0.1:80`, or the known part. */
function label(document: ViewDocument, row: Row): string {
  const ends = ['local', 'remote'].map((id) => field(document, row, id)).filter(Boolean);
  return ends.length > 0 ? ends.join(' → ') : protocolName(field(document, row, 'protocol'));
}

/** The causes of the waits on one socket, or on all. */
function causesOf(document: ViewDocument, row: Row | undefined) {
  const rows = row ? [row] : document.rows;
  return sumParts(rows.map((each) => field(document, each, 'wait_by_cause')).filter(isParts));
}
