// The phases as one bar of cycles; a click highlights a phase in the chart.

import type { ViewDocument } from '../../api/types';
import { phaseColor } from '../../base/phases';
import { t } from '../../base/texts';
import { percent, real } from '../../base/units';
import { useDispatch, useView } from '../../state/provider';
import { useTraceView } from '../../state/trace';
import { field } from '../grid/report-grid';

/** Smaller shares have no room for their names. */
const NAMED = 0.045;

export function PhaseBar() {
  const phases = useTraceView('phases');
  const lit = useView((state) => state.lit);
  const dispatch = useDispatch();
  if (!phases.data) return null;
  const document = phases.data;
  const toggle = (name: string) =>
    dispatch({ lit: lit.includes(name) ? lit.filter((other) => other !== name) : [...lit, name], function: '' });
  return (
    <fieldset className="phase-bar" aria-label={t('tab.phases')}>
      {document.rows.map((row) => {
        const name = String(field(document, row, 'phase'));
        const share = Number(field(document, row, 'cycles_share'));
        return (
          <button
            key={name}
            type="button"
            className="phase"
            aria-pressed={lit.includes(name)}
            aria-label={`${name} ${percent(share)}`}
            data-tip={phaseTip(document, row)}
            data-dim={lit.length > 0 && !lit.includes(name)}
            style={{ flexGrow: Math.max(share, 0.004), '--phase': phaseColor(name) } as React.CSSProperties}
            onClick={() => toggle(name)}
          >
            {share >= NAMED && (
              <span>
                {name} {percent(share)}
              </span>
            )}
          </button>
        );
      })}
    </fieldset>
  );
}

function phaseTip(document: ViewDocument, row: ViewDocument['rows'][number]): string {
  const number = (id: string) => Number(field(document, row, id));
  return t('anatomy.phase.tip', {
    phase: String(field(document, row, 'phase')),
    cycles: percent(number('cycles_share')),
    instructions: percent(number('instructions_share')),
    cpi: real(number('cpi')),
    mpi: real(number('l1_mpi')),
  });
}
