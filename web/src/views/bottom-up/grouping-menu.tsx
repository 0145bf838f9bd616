// The nesting of the rows: a list of the usual ones, and any other by hand.

import type { ChoiceWord } from '../../api/types';
import { help, t } from '../../base/texts';
import { CALLEES, CALLERS, GROUPINGS, levelTitle } from '../../logic/grouping';
import { useDispatch, useView } from '../../state/provider';
import { Menu } from '../parts/menu';

export function GroupingMenu({ levels }: { levels: ChoiceWord[] }) {
  const groupBy = useView((state) => state.groupBy);
  const dispatch = useDispatch();
  const name = (id: string) => levelTitle(id, levels);
  const set = (next: readonly string[]) => dispatch({ groupBy: [...next], selection: [] });
  const known = new Set([...levels.map(({ id }) => id), CALLERS, CALLEES]);
  const offered = GROUPINGS.filter((grouping) => grouping.every((level) => known.has(level)));
  return (
    <Menu label={`${t('grid.group-by')}: ${groupBy.map(name).join(' / ')} ▾`} tip={t('grid.group-by.help')}>
      {(close) => (
        <div className="grouping">
          {offered.map((grouping) => (
            <button
              key={grouping.join()}
              type="button"
              className="menu-entry"
              aria-pressed={grouping.join() === groupBy.join()}
              onClick={() => {
                set(grouping);
                close();
              }}
            >
              {grouping.map(name).join(' / ')}
            </button>
          ))}
          <h3>{t('grid.custom')}</h3>
          <Nesting groupBy={groupBy} levels={levels} set={set} />
        </div>
      )}
    </Menu>
  );
}

interface NestingProps {
  groupBy: readonly string[];
  levels: ChoiceWord[];
  set: (next: readonly string[]) => void;
}

const MOST = 5;

function Nesting({ groupBy, levels, set }: NestingProps) {
  const choices = [...levels.map(({ id }) => id), CALLERS, CALLEES];
  const change = (at: number, level: string) => {
    const next =
      level === ''
        ? groupBy.filter((_, other) => other !== at)
        : groupBy.map((old, other) => (other === at ? level : old));
    if (next.length > 0) set(inOrder(next));
  };
  return (
    <div className="nesting">
      {groupBy.map((level, at) => (
        <select
          key={level}
          aria-label={t('grid.level', { number: at + 1 })}
          data-tip={help(level, levels.find(({ id }) => id === level)?.help ?? '')}
          value={level}
          onChange={({ target }) => change(at, target.value)}
        >
          {groupBy.length > 1 && <option value="">—</option>}
          {choices
            .filter((id) => id === level || !groupBy.includes(id))
            .map((id) => (
              <option key={id} value={id}>
                {levelTitle(id, levels)}
              </option>
            ))}
        </select>
      ))}
      {groupBy.length < MOST && (
        <select
          aria-label={t('grid.add-level')}
          value=""
          onChange={({ target }) => set(inOrder([...groupBy, target.value]))}
        >
          <option value="">{t('grid.add-level')} …</option>
          {choices
            .filter((id) => !groupBy.includes(id))
            .map((id) => (
              <option key={id} value={id}>
                {levelTitle(id, levels)}
              </option>
            ))}
        </select>
      )}
    </div>
  );
}

/** Callers and callees repeat to the end of the stack, so they come last. */
function inOrder(levels: readonly string[]): string[] {
  const endless = (level: string) => level === CALLERS || level === CALLEES;
  return [...levels.filter((level) => !endless(level)), ...levels.filter(endless).slice(0, 1)];
}
