// The command palette: screens, names and actions, found by typing. The keyboard alone serves it.

import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { withoutToken } from '../api/token';
import { t } from '../base/texts';
import { handleEntries, handleKind, REPORT_OF_KIND } from '../logic/handles';
import {
  changeEntries,
  found,
  NAME_GROUPS,
  type NameGroup,
  nameEntries,
  type PaletteEntry,
  type PaletteGroup,
  screenEntries,
  threadEntries,
} from '../logic/palette';
import { useKeys } from '../logic/use-keys';
import { clearFilters } from '../state/actions';
import { preferences, setPreferences, toggleTheme } from '../state/preferences';
import { useStore, useView } from '../state/provider';
import { useCall, useReport } from '../state/resource';

/** What an entry of the list does, and how it appears. */
interface Choice {
  id: string;
  group: PaletteGroup;
  text: string;
  run: () => void;
}

interface Props {
  /** Whether the page shows a result that answers searches for names. */
  hasNames: boolean;
  /** Whether there are screens: a result or an instruction trace is open. */
  hasScreens: boolean;
  openHelp: () => void;
  close: () => void;
}

const TYPING_MS = 120;
/** Names of one kind in the list. */
const MOST_NAMES = 6;

export function Palette({ hasNames, hasScreens, openHelp, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const settled = useSettled(search);
  const { entries: ofHandle, problem } = useHandle(hasNames, settled);
  const names = [...ofHandle, ...useNames(hasNames, settled)];
  const choices = useChoices(search, hasScreens, names, openHelp);
  useEffect(() => dialog.current?.showModal(), []);
  useKeys({
    escape: () => {
      close();
      return true;
    },
  });
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, chosen]);
  const run = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.run();
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) setAt(Math.max(0, Math.min(choices.length - 1, chosen + step)));
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing) run(choices[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={t('palette.title')}
      onClose={close}
      onPointerDown={({ target }) => target === dialog.current && close()}
    >
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={choices.length > 0 ? `${id}-${chosen}` : undefined}
        aria-label={t('palette.title')}
        placeholder={t(hasNames ? 'palette.placeholder' : 'palette.placeholder.actions')}
        value={search}
        onChange={({ target }) => {
          setSearch(target.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      <div id={`${id}-list`} className="palette-list" role="listbox" aria-label={t('palette.title')} tabIndex={-1}>
        {choices.map((choice, index) => (
          <button
            type="button"
            tabIndex={-1}
            key={choice.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(choice)}
          >
            <span className="palette-text">{choice.text}</span>
            <span className="faint">{t(`palette.group.${choice.group}`)}</span>
          </button>
        ))}
      </div>
      {choices.length === 0 && <p className="faint">{problem ?? t('empty.search', { search })}</p>}
    </dialog>
  );
}

/** The text once the typing pauses. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** The thing whose handle the text is, or why there is none. */
function useHandle(hasNames: boolean, search: string): { entries: PaletteEntry[]; problem: string | null } {
  const info = useCall('info', { when: hasNames });
  const kind = hasNames ? handleKind(search) : null;
  const name = (kind && REPORT_OF_KIND[kind]) ?? '';
  const report = useReport(name, { params: { subject: search.trim() }, change: clearFilters, when: name !== '' });
  if (!info.data || !kind) return { entries: [], problem: null };
  const isAnswered = name !== '' && !report.loading;
  const problem = report.error ? [report.error.text, report.error.advice].filter(Boolean).join('. ') : null;
  return { entries: handleEntries(search, info.data, isAnswered ? report.data : undefined), problem };
}

/** The names of the result that have the text in them, whatever the filters leave. */
function useNames(hasNames: boolean, search: string): PaletteEntry[] {
  const info = useCall('info', { when: hasNames });
  const wanted = search.trim();
  const isKnown = (group: NameGroup) => info.data?.filter_keys.some(({ id }) => id === group) ?? false;
  const useGroup = (group: NameGroup) =>
    useCall('filters', {
      params: { key: group, search: wanted, limit: MOST_NAMES },
      change: clearFilters,
      when: hasNames && wanted !== '' && isKnown(group),
    });
  const answers = NAME_GROUPS.map(useGroup);
  if (!info.data || wanted === '') return [];
  const namesOf = (at: number) => answers[at]?.data?.values.map(({ value }) => value) ?? [];
  return [
    ...threadEntries(info.data, wanted, MOST_NAMES),
    ...NAME_GROUPS.flatMap((group, at) => nameEntries(group, namesOf(at))),
  ];
}

function useChoices(search: string, hasScreens: boolean, names: PaletteEntry[], openHelp: () => void): Choice[] {
  const store = useStore();
  const tab = useView((state) => state.tab);
  const changes = [...(hasScreens ? [...screenEntries(tab), ...changeEntries()] : []), ...names];
  const action = (key: 'undo' | 'redo' | 'copy' | 'theme' | 'strip' | 'help', run: () => void): Choice => ({
    id: key,
    group: 'action',
    text: t(`palette.action.${key}`),
    run,
  });
  const choices: Choice[] = [
    ...changes.map(({ change, ...rest }) => ({ ...rest, run: () => store.dispatch(change) })),
    action('undo', store.undo),
    action('redo', store.redo),
    action('copy', () => void navigator.clipboard?.writeText(withoutToken(window.location.href))),
    action('theme', toggleTheme),
    action('strip', () => setPreferences({ stripOpen: !preferences().stripOpen })),
    action('help', openHelp),
  ];
  return found(choices, search);
}
