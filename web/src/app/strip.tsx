// The timeline strip below the other views; the reader can hide it.

import { lazy } from 'react';
import { t } from '../base/texts';
import { setPreferences, usePreferences } from '../state/preferences';
import { Boundary } from '../views/parts/boundary';

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
          <TimelinePane mode="strip" />
        </Boundary>
      )}
    </section>
  );
}
