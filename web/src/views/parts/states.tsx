// The content of a pane without data: a skeleton, an error with its hint, or the reason why it is empty.

import { type ReactNode, useEffect } from 'react';
import { begin } from '../../base/activity';
import { t } from '../../base/texts';
import { clearFilters, filtered } from '../../state/actions';
import { useDispatch, useView } from '../../state/provider';
import type { Resource } from '../../state/resource';

/** Shows `children` of the data; a skeleton until it arrives; the error if it fails. */
export function Loaded<T>({
  of,
  rows = 8,
  children,
}: {
  of: Resource<T>;
  rows?: number;
  children: (data: T) => ReactNode;
}) {
  if (of.error) return <Failure error={of.error.text} hint={of.error.advice} retry={of.retry} />;
  if (of.data === undefined) return of.slow ? <Skeleton rows={rows} /> : null;
  return (
    <div className={of.slow ? 'loaded stale' : 'loaded'} aria-busy={of.loading}>
      {children(of.data)}
    </div>
  );
}

export function Skeleton({ rows }: { rows: number }) {
  return (
    <div className="skeleton" role="status" aria-label={t('app.loading')}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars without content never change places.
        <div key={row} className={`skeleton-bar skeleton-${row % 4}`} />
      ))}
    </div>
  );
}

export function Failure({ error, hint, retry }: { error: string; hint: string | null; retry?: () => void }) {
  return (
    <div className="message" role="alert">
      <p className="bad">{t('error.title', { error })}</p>
      {hint && <p>{t('error.hint', { hint })}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          {t('error.retry')}
        </button>
      )}
    </div>
  );
}

/** Explains an empty pane, and the remedy. */
export function Empty({ children }: { children?: ReactNode }) {
  const isFiltered = useView(filtered);
  const dispatch = useDispatch();
  return (
    <div className="message" role="status">
      <p>{children ?? (isFiltered ? t('empty.filtered') : t('empty.rows'))}</p>
      {isFiltered && (
        <button type="button" onClick={() => dispatch(clearFilters)}>
          {t('empty.clear')}
        </button>
      )}
    </div>
  );
}

/** Stands in for a view until its code arrives; the page stays busy meanwhile. */
export function Pending() {
  useEffect(() => begin(), []);
  return null;
}
