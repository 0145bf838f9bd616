// The waits on a socket, the longest first; each leads to its place on the timeline.

import { type ReactNode, useState } from 'react';
import type { Info, ViewDocument } from '../../api/types';
import { causeColor } from '../../base/palette';
import { t, word } from '../../base/texts';
import { onlyWait, showWait, type Wait } from '../../logic/sockets';
import { exactTime } from '../../logic/timeline/axis';
import { useDispatch, useView } from '../../state/provider';
import { useCall, useReportView } from '../../state/resource';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { Loaded } from '../parts/states';

type Row = ViewDocument['rows'][number];

/** Nobody reads a longer list; the note has the number of all waits. */
const MOST_WAITS = 2000;

export function Waits({ name }: { name: string }) {
  const { socket, search } = useView((state) => ({ socket: state.socket, search: state.search }));
  const waits = useReportView('socket-waits', { params: { subject: socket, limit: MOST_WAITS } });
  const info = useCall('info').data;
  const dispatch = useDispatch();
  const [chosen, choose] = useState<Row | null>(null);
  const row = waits.data && chosen && waits.data.rows.includes(chosen) ? chosen : null;
  const wait = waits.data && row ? waitOf(waits.data, row) : null;
  const show = (of: Wait | null) => of && info && dispatch((state) => showWait(state, of, info));
  return (
    <section className="pane" aria-label={t('sockets.waits')}>
      <ReportToolbar of={waits.data}>
        <strong className="ellipsis">{t('sockets.waits-of', { name })}</strong>
        <button type="button" disabled={!wait} onClick={() => show(wait)}>
          {t('sockets.show-wait')} <kbd>↵</kbd>
        </button>
        <button type="button" disabled={!wait} onClick={() => wait && dispatch((state) => onlyWait(state, wait))}>
          {t('detail.only-time')}
        </button>
      </ReportToolbar>
      <Loaded of={waits}>
        {(document) => (
          <ReportGrid
            name="socket-waits"
            label={t('sockets.waits')}
            document={document}
            hidden={['tid', 'wait_ns', ...(socket === '' ? [] : ['socket'])]}
            search={search}
            show={(column, each) => cell(document, column, each, () => show(waitOf(document, each)), info)}
            selected={(each) => each === row}
            onSelect={choose}
            onOpen={(each) => show(waitOf(document, each))}
            empty={t('empty.waits')}
          />
        )}
      </Loaded>
    </section>
  );
}

function waitOf(document: ViewDocument, row: Row): Wait {
  const number = (id: string) => Number(field(document, row, id));
  return { tid: number('tid'), startNs: number('start_ns'), waitNs: number('wait_ns') };
}

/** Cells that show more than the value: the time leads to the timeline, causes have colours, words are translated. */
function cell(
  document: ViewDocument,
  column: string,
  row: Row,
  show: () => void,
  info: Info | undefined,
): ReactNode | undefined {
  const value = field(document, row, column);
  if (column === 'start_ns') {
    return (
      <button type="button" className="link" tabIndex={-1} disabled={!info} onClick={show}>
        {exactTime(Number(value))}
      </button>
    );
  }
  if (column === 'direction') return word('direction', String(value));
  if (column !== 'cause') return undefined;
  return (
    <span>
      <i className="swatch" style={{ background: causeColor(String(value)) }} /> {word('cause', String(value))}
    </span>
  );
}
