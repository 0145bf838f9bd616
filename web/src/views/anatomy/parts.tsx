// A list of places in the chart: buffers of one size, and packets.

import type { TraceInfo, ViewDocument } from '../../api/types';
import { t } from '../../base/texts';
import { bytes, count } from '../../base/units';
import { useDispatch } from '../../state/provider';
import { useTraceView } from '../../state/trace';
import { field } from '../grid/report-grid';

/** The most parts in the list; the chart has the rest. */
const LIMIT = 500;

export function PartPicker({ info }: { info: TraceInfo }) {
  const parts = useTraceView('parts', { limit: LIMIT });
  const dispatch = useDispatch();
  const rows = parts.data?.rows ?? [];
  if (!parts.data || rows.length === 0) return null;
  const document = parts.data;
  const show = (at: number) => {
    const row = rows[at];
    if (!row) return;
    const number = (id: string) => Number(field(document, row, id)) * info.ticks_per_cycle;
    const [from, length] = [number('clock'), number('part_cycles')];
    dispatch({ zoom: { from, to: Math.max(from + length, from + 1) } });
  };
  return (
    <label>
      {t('anatomy.part')}{' '}
      <select value="" onChange={({ target }) => show(Number(target.value))}>
        <option value="" disabled>
          {t('anatomy.part.choose')}
        </option>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a report's rows never change places.
          <option key={at} value={at}>
            {partText(document, row)}
          </option>
        ))}
      </select>
    </label>
  );
}

export function partText(document: ViewDocument, row: ViewDocument['rows'][number]): string {
  const number = Number(field(document, row, 'number'));
  switch (field(document, row, 'kind')) {
    case 'packet':
      return t('anatomy.packet', { number });
    case 'buffers':
      return t('anatomy.buffers-of', { count: count(Number(field(document, row, 'times'))), bytes: bytes(number) });
    default:
      return t('anatomy.mark', { number });
  }
}
