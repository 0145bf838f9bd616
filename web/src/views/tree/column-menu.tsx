// The menu of the columns and of the style of numbers.

import type { MetricInfo } from '../../api/types';
import { help, t, title } from '../../base/texts';
import { NUMBER_STYLES, setPreferences, usePreferences } from '../../state/preferences';
import { useDispatch } from '../../state/provider';
import { Menu } from '../parts/menu';

export function ColumnMenu({ known, shown }: { known: MetricInfo[]; shown: string[] }) {
  const dispatch = useDispatch();
  const toggle = (id: string, on: boolean) => {
    const next = on ? [...shown, id] : shown.filter((other) => other !== id);
    if (next.length > 0) dispatch({ metrics: next });
  };
  return (
    <Menu label={`${t('grid.columns')} ▾`}>
      {() => (
        <div className="column-list">
          {known.map(({ id, title: english, detail }) => (
            <label key={id} data-tip={help(id, detail)}>
              <input
                type="checkbox"
                checked={shown.includes(id)}
                onChange={({ target }) => toggle(id, target.checked)}
              />
              {title(id, english)}
            </label>
          ))}
          <button type="button" onClick={() => dispatch({ metrics: [] })}>
            {t('grid.default-columns')}
          </button>
        </div>
      )}
    </Menu>
  );
}

export function NumberMenu() {
  const { numbers } = usePreferences();
  return (
    <select
      aria-label={t('grid.numbers')}
      value={numbers}
      onChange={({ target }) =>
        setPreferences({ numbers: NUMBER_STYLES.find((style) => style === target.value) ?? 'bar-number' })
      }
    >
      {NUMBER_STYLES.map((style) => (
        <option key={style} value={style}>
          {t(`numbers.${style}`)}
        </option>
      ))}
    </select>
  );
}
