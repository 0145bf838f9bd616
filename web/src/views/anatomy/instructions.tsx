// Each instruction of a call, or the code of a function, with the model's figures.

import { useMemo, useState } from 'react';
import type { ViewDocument } from '../../api/types';
import { t } from '../../base/texts';
import type { Params } from '../../state/query';
import { useTraceView } from '../../state/trace';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { Loaded } from '../parts/states';

const LIMIT = 2000;

/** The instructions of a call: of its own function, or including callees. */
export function Instructions({ params, own }: { params: Params; own: string }) {
  const all = useTraceView('instructions', { ...params, limit: LIMIT });
  const [callees, setCallees] = useState(false);
  return (
    <section className="pane" aria-label={t('anatomy.instructions')}>
      <ReportToolbar of={all.data}>
        <strong>{t('anatomy.instructions')}</strong>
        <label>
          <input type="checkbox" checked={callees} onChange={({ target }) => setCallees(target.checked)} />
          {t('anatomy.callees')}
        </label>
      </ReportToolbar>
      <Loaded of={all}>
        {(data) => <InstructionGrid document={data} name="instructions" own={callees ? null : own} />}
      </Loaded>
    </section>
  );
}

interface GridProps {
  document: ViewDocument;
  name: string;
  /** Only instructions of this function; null: all. */
  own: string | null;
}

export function InstructionGrid({ document, name, own }: GridProps) {
  const shown = useMemo(() => addressFirst(document, own), [document, own]);
  return (
    <ReportGrid
      name={name}
      label={t('anatomy.instructions')}
      document={shown}
      hidden={own === null ? [] : ['function']}
      show={(column, row) =>
        column === 'address' ? <code className="cell-text">{String(field(shown, row, 'address'))}</code> : undefined
      }
    />
  );
}

/** Moves the function column to the end: the address names a row. */
function addressFirst(document: ViewDocument, own: string | null): ViewDocument {
  const at = document.columns.findIndex(({ id }) => id === 'function');
  const moved = <T,>(list: readonly T[]) => [...list.toSpliced(at, 1), ...list.slice(at, at + 1)];
  const rows = document.rows.filter(({ values }) => own === null || values[at] === own);
  return {
    ...document,
    columns: moved(document.columns),
    rows: rows.map(({ depth, values }) => ({ depth, values: moved(values) })),
  };
}
