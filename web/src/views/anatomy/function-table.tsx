// Functions by cycles, with the four-way split of their slots as a bar.

import { useMemo } from 'react';
import type { ViewDocument } from '../../api/types';
import { SPLIT, SPLIT_COLORS } from '../../base/phases';
import { t } from '../../base/texts';
import { percent } from '../../base/units';
import { type Split, splitOf, withSplit } from '../../logic/anatomy/split';
import { useDispatch, useView } from '../../state/provider';
import { useTraceView } from '../../state/trace';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';

/** Columns that the bar shows. */
const HIDDEN = ['retiring', 'bad_speculation', 'backend_bound', 'memory_bound', 'cycles', 'instructions'];
const LIMIT = 10_000;

export function FunctionTable({ onOpen }: { onOpen?: () => void }) {
  const functions = useTraceView('hotspots', { limit: LIMIT });
  const chosen = useView((state) => ({ name: state.function, module: state.module, search: state.search }));
  const dispatch = useDispatch();
  const pick = (document: ViewDocument, row: ViewDocument['rows'][number]) => {
    const [name, module] = [String(field(document, row, 'function')), String(field(document, row, 'module'))];
    const isChosen = name === chosen.name && module === chosen.module;
    dispatch(isChosen ? { function: '', module: '' } : { function: name, module, lit: [], call: null }, 'touch');
  };
  return (
    <section className="pane" aria-label={t('tab.functions')}>
      <ReportToolbar of={functions.data}>
        <SearchField />
        {chosen.name !== '' && (
          <button type="button" onClick={() => dispatch({ function: '', module: '' })}>
            {t('anatomy.function.none')}
          </button>
        )}
      </ReportToolbar>
      <Loaded of={functions}>
        {(data) => (
          <MeasureGrid
            name="functions"
            label={t('tab.functions')}
            document={data}
            hidden={HIDDEN}
            search={chosen.search}
            selected={(row) =>
              field(data, row, 'function') === chosen.name && field(data, row, 'module') === chosen.module
            }
            onSelect={(row) => pick(data, row)}
            onOpen={onOpen}
          />
        )}
      </Loaded>
      <footer className="totals">
        <SplitLegend />
      </footer>
    </section>
  );
}

interface MeasureProps {
  name: string;
  label: string;
  document: ViewDocument;
  hidden?: readonly string[];
  search?: string;
  selected?: (row: ViewDocument['rows'][number]) => boolean;
  onSelect?: (row: ViewDocument['rows'][number]) => void;
  onOpen?: (() => void) | undefined;
}

/** A report of measures, with the split of the slots as a bar after the CPI. */
export function MeasureGrid({ document, onOpen, hidden = HIDDEN, ...rest }: MeasureProps) {
  const shown = useMemo(() => withSplit(document), [document]);
  return (
    <ReportGrid
      {...rest}
      document={shown}
      hidden={hidden}
      show={(column, row) => (column === 'split' ? <SplitBar split={splitOf(shown, row)} /> : undefined)}
      {...(onOpen ? { onOpen } : {})}
    />
  );
}

export function SplitBar({ split }: { split: Split }) {
  const tip = SPLIT.map((part) => `${t(`split.${part}`)} ${percent(split[part])}`).join(' · ');
  return (
    <span className="cell-bar" data-tip={tip}>
      <span className="bar split-slots" role="img" aria-label={tip}>
        {SPLIT.map((part) => (
          <i key={part} className="fill" style={{ width: `${split[part] * 100}%`, background: SPLIT_COLORS[part] }} />
        ))}
      </span>
    </span>
  );
}

export function SplitLegend() {
  return (
    <span className="split-legend">
      {SPLIT.map((part) => (
        <span key={part} className="faint">
          <i className="swatch" style={{ background: SPLIT_COLORS[part] }} /> {t(`split.${part}`)}
        </span>
      ))}
    </span>
  );
}
