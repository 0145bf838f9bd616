// The keyboard map, and the keys that work everywhere.

import { useEffect, useRef, useState } from 'react';
import { t } from '../base/texts';
import { KEYS } from '../logic/keyboard';
import { useKeys } from '../logic/use-keys';
import { clearFilters } from '../state/actions';
import { preferences, setPreferences, toggleTheme } from '../state/preferences';
import { useStore } from '../state/provider';
import { tabsBeside } from '../state/view-state';

/** A dialog over the page. */
export type PageDialog = 'help' | 'palette' | null;

/** Handles the keys of the page, and tells which dialog is open. */
export function useAppKeys() {
  const store = useStore();
  const [dialog, setDialog] = useState<PageDialog>(null);
  const go = (index: number) => {
    const tab = tabsBeside(store.get().tab)[index];
    if (tab) store.dispatch({ tab });
    return tab !== undefined;
  };
  const step = (by: number) => go(tabsBeside(store.get().tab).indexOf(store.get().tab) + by);
  useKeys({
    help: () => done(() => setDialog(dialog === 'help' ? null : 'help')),
    palette: () => done(() => setDialog(dialog === 'palette' ? null : 'palette')),
    escape: () => done(() => (document.activeElement as HTMLElement | null)?.blur()),
    tab: ({ key }) => go(Number(key) - 1),
    'previous-tab': () => step(-1),
    'next-tab': () => step(1),
    undo: () => done(store.undo),
    redo: () => done(store.redo),
    clear: () => done(() => store.dispatch(clearFilters)),
    theme: () => done(toggleTheme),
    strip: () => done(() => setPreferences({ stripOpen: !preferences().stripOpen })),
    // A screen without a search of its own has the palette's.
    search: () => focus('[data-search]') || done(() => setDialog('palette')),
  });
  return [dialog, setDialog] as const;
}

function done(action: () => void): true {
  action();
  return true;
}

function focus(selector: string): boolean {
  const field = document.querySelector<HTMLElement>(selector);
  field?.focus();
  return field !== null;
}

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  // Before the screen below, which may have a use for Escape.
  useKeys({ escape: () => done(close) });
  return (
    <dialog ref={dialog} className="help" onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">{t('keys.title')}</h2>
      <div className="help-groups">
        {(['view', 'list', 'timeline'] as const).map((group) => (
          <section key={group}>
            <h3>{t(`keys.group.${group}`)}</h3>
            <dl>
              {KEYS.filter((key) => key.group === group).map(({ id, shown, text }) => (
                <div key={id}>
                  <dt>
                    <kbd>{shown}</kbd>
                  </dt>
                  <dd>{t(text)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <button type="button" onClick={close}>
        {t('app.close')}
      </button>
    </dialog>
  );
}
