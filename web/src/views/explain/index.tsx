// Causes: every root cause of waits, and the chains that lead to the chosen one as a drawing.

import { useMemo } from 'react';
import type { ViewDocument } from '../../api/types';
import { shortText } from '../../base/names';
import { prose } from '../../base/prose';
import { t } from '../../base/texts';
import { causeId, IDENTITY, type RootCause } from '../../logic/causes';
import { useDispatch, useView } from '../../state/provider';
import { useReport, useReportView } from '../../state/resource';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { ChainDrawing } from './drawing';
import './explain.css';

/** What the drawing and the text below the list say. */
const HIDDEN = ['cause', 'chain', 'chains', 'links', 'advice', 'text', 'stack'];
const PARAMS = { limit: 200 };

export default function ExplainView() {
  return (
    <Split name="explain" second="below" size={0.58} least={120}>
      <CauseList />
      <ChosenCause />
    </Split>
  );
}

type Row = ViewDocument['rows'][number];

function CauseList() {
  const causes = useReportView('explain', { params: PARAMS });
  const chosen = useView((state) => state.cause);
  const dispatch = useDispatch();
  const id = (document: ViewDocument, row: Row) =>
    causeId(
      Object.fromEntries(IDENTITY.map((column) => [column, field(document, row, column)])) as unknown as RootCause,
    );
  const isChosen = (document: ViewDocument, row: Row) =>
    chosen === '' ? row === document.rows[0] : id(document, row) === chosen;
  return (
    <section className="pane" aria-label={t('tab.explain')}>
      <ReportToolbar of={causes.data}>
        <span className="faint">{t('explain.help')}</span>
      </ReportToolbar>
      <Loaded of={causes}>
        {(document) => (
          <ReportGrid
            name="explain"
            label={t('tab.explain')}
            document={document}
            hidden={HIDDEN}
            selected={(row) => isChosen(document, row)}
            onSelect={(row) => dispatch({ cause: id(document, row) }, 'touch')}
            empty={t('explain.none')}
          />
        )}
      </Loaded>
    </section>
  );
}

function ChosenCause() {
  const causes = useReport('explain', { params: PARAMS });
  const chosen = useView((state) => state.cause);
  const rows = (causes.data?.rows ?? []) as unknown as RootCause[];
  const cause = chosen === '' ? rows[0] : rows.find((row) => causeId(row) === chosen);
  const links = useMemo(() => cause?.links ?? [], [cause]);
  return (
    <section className="pane" aria-label={t('explain.chains')}>
      {cause ? (
        <div className="scroll pad">
          <p>
            <strong>{shortText(prose(cause.cause, cause.cause_parts))}</strong>
          </p>
          <ChainDrawing cause={cause} links={links} />
          <p>
            <span className="faint">{t('finding.advice')}: </span>
            {prose(cause.advice, cause.advice_parts)}
          </p>
        </div>
      ) : (
        <p className="pad faint">{t('explain.choose')}</p>
      )}
    </section>
  );
}
