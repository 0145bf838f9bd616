// Result, program, groups of screens, and the buttons of the page as a whole.

import type { ResultInfo } from '../api/types';
import { LANGUAGES, t } from '../base/texts';
import { commandName, duration } from '../base/units';
import { openResult } from '../state/actions';
import { setPreferences, toggleTheme, usePreferences } from '../state/preferences';
import { useDispatch, useStore } from '../state/provider';
import type { PageDialog } from './help';
import { ShareMenu } from './share';
import { Tabs } from './tabs';

interface Props {
  results: ResultInfo[];
  current: ResultInfo | undefined;
  /** Whether there is more than the one result: collections are started from the list. */
  isHome: boolean;
  open: (dialog: PageDialog) => void;
}

export function Header({ results, current, isHome, open }: Props) {
  return (
    <header className="header">
      <strong className="brand">Dwell</strong>
      {current && <ResultPicker results={results} current={current} isHome={isHome} />}
      {current ? <Tabs /> : <span className="grow" />}
      <Tools open={open} hasFiles={current !== undefined && !current.problem} />
    </header>
  );
}

function ResultPicker({ results, current, isHome }: { results: ResultInfo[]; current: ResultInfo; isHome: boolean }) {
  const dispatch = useDispatch();
  return (
    <span className="result-name">
      {results.length > 1 || isHome ? (
        <select
          aria-label={t('app.result')}
          data-tip={current.program}
          value={current.id}
          onChange={({ target }) => dispatch((state) => openResult(state, target.value))}
        >
          <option value="">{t('app.results')} …</option>
          {results.map(({ id, program, problem }) => (
            <option key={id} value={id} disabled={Boolean(problem)}>
              {id} {commandName(program, 20)}
            </option>
          ))}
        </select>
      ) : (
        <>
          <span>{current.name}</span>
          <span className="program" data-tip={current.program}>
            {commandName(current.program)}
          </span>
        </>
      )}
      {current.elapsed_ns > 0 && <span className="faint elapsed">{duration(current.elapsed_ns)}</span>}
    </span>
  );
}

function Tools({ open, hasFiles }: Pick<Props, 'open'> & { hasFiles: boolean }) {
  const store = useStore();
  const { language, theme } = usePreferences();
  return (
    <span className="tools">
      <Tool name={t('app.undo')} shown="[" press={store.undo} />
      <Tool name={t('app.redo')} shown="]" press={store.redo} />
      <ShareMenu hasFiles={hasFiles} />
      <Tool name={t('app.theme')} shown={theme === 'dark' ? '☾' : '☀'} press={toggleTheme} />
      <select
        aria-label={t('app.language')}
        value={language}
        onChange={({ target }) => setPreferences({ language: LANGUAGES.find((tag) => tag === target.value) ?? 'en' })}
      >
        <option value="en">EN</option>
        <option value="ja">日本語</option>
      </select>
      <Tool name={t('app.palette')} shown="⌕" press={() => open('palette')} />
      <Tool name={t('app.help')} shown="?" press={() => open('help')} />
    </span>
  );
}

function Tool({ name, shown, press }: { name: string; shown: string; press: () => void }) {
  return (
    <button type="button" className="tool" aria-label={name} data-tip={name} onClick={press}>
      {shown}
    </button>
  );
}
