import { t } from '../../base/texts';

/** What a reader must know about the numbers above. */
export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <details className="notes">
      <summary>{t('notes.count', { count: notes.length })}</summary>
      <ul>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </details>
  );
}

/** Losses and the like, above everything. */
export function Banner({ losses }: { losses: { name: string; count: number; doc: string }[] }) {
  if (losses.length === 0) return null;
  return (
    <div className="banner" role="alert">
      <strong>{t('losses.title')}</strong>{' '}
      {losses.map(({ name, count, doc }) => (
        <span key={name} data-tip={doc} className="loss">
          {name}: {count.toLocaleString('en')}
        </span>
      ))}
    </div>
  );
}
