// The line above a list: the list's own controls on the left, then the search, then copying.

import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { withoutToken } from '../../api/token';
import { t } from '../../base/texts';
import { useDispatch, useView } from '../../state/provider';
import { Menu } from './menu';

export function Toolbar({ children }: { children: ReactNode }) {
  return <div className="toolbar">{children}</div>;
}

const TYPING_MS = 200;

/** The view's search; `/` goes there, Escape leaves it. It applies when the typing pauses. */
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

interface CopyProps {
  /** The text for people. */
  text: () => string;
  /** The text for programs. */
  csv?: () => string;
  /** The name of `csv`'s format, if not CSV. */
  csvLabel?: string;
  align?: 'right' | 'up';
}

/** Copies the pane's content, or the link to the view. */
export function CopyMenu({ text, csv, csvLabel = t('copy.csv'), align = 'right' }: CopyProps) {
  const [done, setDone] = useState(false);
  const choices: [label: string, content: () => string][] = [
    [t('copy.text'), text],
    ...(csv ? [[csvLabel, csv] as [string, () => string]] : []),
    [t('copy.link'), () => withoutToken(window.location.href)],
  ];
  const copy = (content: () => string) =>
    navigator.clipboard?.writeText(content()).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    });
  return (
    <Menu label={done ? t('app.copied') : `${t('copy.menu')} ▾`} align={align} className="copy">
      {(close) =>
        choices.map(([label, content]) => (
          <button
            key={label}
            type="button"
            className="menu-entry"
            onClick={() => {
              copy(content);
              close();
            }}
          >
            {label}
          </button>
        ))
      }
    </Menu>
  );
}
