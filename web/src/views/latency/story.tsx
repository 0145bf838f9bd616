// The story of an outlier as a band: what its thread did from start to end, piece by piece, with the sums.

import type { ViewDocument } from '../../api/types';
import { causeColor } from '../../base/palette';
import { t, word } from '../../base/texts';
import { duration } from '../../base/units';
import { ordered } from '../../logic/latency';
import { partTexts } from '../../logic/values';
import { useReportView } from '../../state/resource';
import { field } from '../grid/report-grid';
import { Notes } from '../parts/notes';

/** The story of the outlier `id`; with `at`, only if the outlier begins there. */
export function Story({ id, at }: { id: string; at?: number }) {
  const story = useReportView('outlier', { params: { subject: id } }).data;
  if (!story) return null;
  const pieces = story.rows.map((row) => piece(story, row));
  if (at !== undefined && pieces[0]?.start !== at) return null;
  const whole = pieces.reduce((most, { at: since, length }) => Math.max(most, since + length), 1);
  const sums = new Map<string, number>();
  for (const { cause, length } of pieces) sums.set(cause, (sums.get(cause) ?? 0) + length);
  const parts = ordered(Object.fromEntries(sums));
  return (
    <div className="causes">
      <span className="bar story">
        {pieces.map(({ at: since, length, cause, what }) => (
          <i
            key={`${since} ${cause}`}
            className="fill"
            style={{ width: `${(length / whole) * 100}%`, background: causeColor(cause) }}
            data-tip={[word('cause', cause), duration(length), what].filter(Boolean).join(' · ')}
          />
        ))}
      </span>
      <ul className="cause-list" aria-label={t('latency.story')}>
        {partTexts(parts).map((text, index) => (
          <li key={text}>
            <i className="swatch" style={{ background: causeColor(Object.keys(parts)[index] ?? '') }} /> {text}
          </li>
        ))}
      </ul>
      <Notes of={story} />
    </div>
  );
}

function piece(document: ViewDocument, row: ViewDocument['rows'][number]) {
  const value = (id: string) => field(document, row, id);
  return {
    at: Number(value('at_ns')),
    start: Number(value('start_ns')),
    length: Number(value('length_ns')),
    cause: String(value('cause')),
    what: String(value('what') ?? ''),
  };
}
