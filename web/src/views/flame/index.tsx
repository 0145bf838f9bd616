// Flame graph of CPU time, wait time or both: from the threads' entry functions down, or inverted from the leaves up.

import type { Flame } from '../../api/types';
import { t } from '../../base/texts';
import { flameText, foldedStacks } from '../../logic/copy';
import { useDispatch, useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { FLAME_WEIGHTS, type ViewState } from '../../state/view-state';
import { Empty, Loaded } from '../parts/states';
import { CopyMenu, SearchField, Toolbar } from '../parts/toolbar';
import { FlameChart } from './chart';

export default function FlameView() {
  const { weight, inverted, byThread } = useView((state) => state.flame);
  const flame = useCall('flame', {
    params: { weight, inverted, 'by-thread': byThread },
  });
  return (
    <section className="pane" aria-label={t('tab.flame')}>
      <FlameToolbar of={flame.data} />
      <Loaded of={flame}>
        {(data) => (data.parent.length === 0 ? <Empty>{t('flame.none')}</Empty> : <FlameChart flame={data} />)}
      </Loaded>
    </section>
  );
}

function FlameToolbar({ of }: { of: Flame | undefined }) {
  const flame = useView((state) => state.flame);
  const dispatch = useDispatch();
  // A zoomed node of one tree may not exist in another.
  const set = (patch: Partial<ViewState['flame']>) => dispatch({ flame: { ...flame, focus: [], ...patch } });
  return (
    <Toolbar>
      <fieldset className="choices" aria-label={t('flame.weight')}>
        {FLAME_WEIGHTS.map((weight) => (
          <label key={weight}>
            <input type="radio" name="weight" checked={flame.weight === weight} onChange={() => set({ weight })} />
            {t(`flame.${weight}`)}
          </label>
        ))}
      </fieldset>
      <label data-tip={t('flame.inverted.help')}>
        <input type="checkbox" checked={flame.inverted} onChange={({ target }) => set({ inverted: target.checked })} />
        {t('flame.inverted')}
      </label>
      <label>
        <input type="checkbox" checked={flame.byThread} onChange={({ target }) => set({ byThread: target.checked })} />
        {t('flame.by-thread')}
      </label>
      <SearchField />
      {flame.focus.length > 0 && (
        <button type="button" onClick={() => dispatch({ flame: { ...flame, focus: [] } })}>
          {t('flame.all')}
        </button>
      )}
      <span className="grow" />
      {of && <CopyMenu text={() => flameText(of)} csv={() => foldedStacks(of)} csvLabel={t('copy.folded')} />}
    </Toolbar>
  );
}
