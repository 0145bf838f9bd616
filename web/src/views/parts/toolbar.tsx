// The line above a list: what is on the left belongs to the list, then the search, then copying.

import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { t } from '../../base/texts';
import { useDispatch, useView } from '../../state/provider';

export function Toolbar({ children }: { children: ReactNode }) {
  return <div className="toolbar">{children}</div>;
}

const TYPING_MS = 200;

/** The view's search; `/` goes there, Escape leaves it. It is applied when the typing pauses. */
export function SearchField() {
  const applied = useView((state) => state.search);
  const dispatch = useDispatch();
  const [text, setText] = useState(applied);
  useEffect(() => setText(applied), [applied]);
  useEffect(() => {
    if (text === applied) return;
    const timer = setTimeout(() => dispatch({ search: text }, 'touch'), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, applied, dispatch]);
  return (
    <input
      type="search"
      className="search"
      data-search
      value={text}
      placeholder={t('search.placeholder')}
      aria-label={t('search.label')}
      onChange={({ target }) => setText(target.value)}
    />
  );
}

/** Copies what `text` gives. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [done, setDone] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(text()).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    });
  return (
    <button type="button" className="quiet" onClick={copy}>
      {done ? t('app.copied') : label}
    </button>
  );
}
