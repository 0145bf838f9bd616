// The button and the keys that filter by the selected row of a list.

import { t } from '../../base/texts';
import { useKeys } from '../../logic/use-keys';
import { filterIn, filterOut } from '../../state/actions';
import { useDispatch } from '../../state/provider';

interface Props {
  /** The filter's key. */
  by: string;
  /** The filter value of the selected row; null without one. */
  value: string | null;
}

export function FilterIn({ by, value }: Props) {
  const dispatch = useDispatch();
  const filter = (change: typeof filterIn) => {
    if (value !== null) dispatch((state) => change(state, by, value));
    return value !== null;
  };
  useKeys({ 'filter-in': () => filter(filterIn), 'filter-out': () => filter(filterOut) });
  return (
    <button type="button" disabled={value === null} onClick={() => filter(filterIn)}>
      {t('filter.in')} <kbd>f</kbd>
    </button>
  );
}
