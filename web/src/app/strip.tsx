// The timeline below the other views; can be hidden.

import { lazy, Suspense } from 'react';
import { t } from '../base/texts';
import { setPreferences, usePreferences } from '../state/preferences';
import { Boundary } from '../views/parts/boundary';
import { Pending } from '../views/parts/states';

const TimelinePane = lazy(() => import('../views/timeline/pane'));

export function TimelineStrip() {
  const { stripOpen } = usePreferences();
  return (
    <section className="strip" aria-label={t('pane.timeline')}>
      <button
        type="button"
        className="strip-toggle"
        aria-expanded={stripOpen}
        aria-label={t(stripOpen ? 'pane.timeline.hide' : 'pane.timeline.show')}
        onClick={() => setPreferences({ stripOpen: !stripOpen })}
      >
        {stripOpen ? '▾' : '▸'} {t('pane.timeline')}
      </button>
      {stripOpen && (
        <Boundary>
          <Suspense fallback={<Pending />}>
            <TimelinePane mode="strip" />
          </Suspense>
        </Boundary>
      )}
    </section>
  );
}
