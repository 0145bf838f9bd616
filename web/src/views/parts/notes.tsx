import type { Loss, Noted } from '../../api/types';
import { prose } from '../../base/prose';
import { lossText, t } from '../../base/texts';
import { count, span } from '../../base/units';

/** The remarks about the numbers above. */
export function Notes({ of: { notes, notes_parts: parts } }: { of: Noted }) {
  if (notes.length === 0) return null;
  return (
    <details className="notes">
      <summary>{t('notes.count', { count: notes.length })}</summary>
      <ul>
        {notes.map((note, at) => (
          <li key={note}>{prose(note, parts?.[at])}</li>
        ))}
      </ul>
    </details>
  );
}

/** The lost data, above every view. What detail is missing is one of the remarks below it. */
export function Banner({ losses }: { losses: Loss[] }) {
  if (losses.length === 0) return null;
  // Only the subject of the sentence, without the consequence.
  const brief = (text: string) => /^[^;.,(:。（(]*/.exec(text)?.[0];
  return (
    <div className="banner" role="status">
      <strong>{t('losses.title')}</strong>{' '}
      {losses.map(({ name, count: times, doc, time_ns: when }) => (
        <span key={name} data-tip={`${name}: ${lossText(name, doc)}`} className="loss">
          {count(times)} × {brief(lossText(name, doc)) ?? name}
          {when ? ` (${span(...when)})` : ''}
        </span>
      ))}
    </div>
  );
}
