// The toolbar above the timeline: kind and order of the bands, search, the visible time, and the legend.

import { STATES, type State } from '../../base/palette';
import { help, t, title } from '../../base/texts';
import { duration } from '../../base/units';
import { timeText } from '../../logic/timeline/axis';
import { zoomAbout } from '../../logic/timeline/viewport';
import { useDispatch, useView } from '../../state/provider';
import { BAND_KINDS } from '../../state/view-state';
import { SearchField } from '../parts/toolbar';
import { useSetting, useSettledView } from './setting';

/** States with a switch in the legend. */
const UNLISTED: readonly State[] = ['absent', 'starting', 'paused'];
const SHOWN: readonly State[] = STATES.filter((state) => !UNLISTED.includes(state));
export function TimelineToolbar() {
  const { info, scene } = useSetting();
  const { by, sort, hidden } = useView((state) => ({
    by: state.bands,
    sort: state.bandSort,
    hidden: state.hidden.length,
  }));
  const dispatch = useDispatch();
  const zoom = (factor: number) =>
    scene.moveTo(zoomAbout(scene.view, scene.width / 2, scene.width, factor, scene.elapsedNs));
  return (
    <div className="toolbar">
      <label>
        <span className="faint">{t('timeline.by')} </span>
        <select
          value={by}
          onChange={({ target: { value } }) => {
            const bands = BAND_KINDS.find((kind) => kind === value) ?? 'thread';
            // Ids of one kind of bands mean nothing for another.
            dispatch({ bands, pinned: [], hidden: [], expanded: [] });
          }}
        >
          {BAND_KINDS.filter((kind) => kind !== 'task' || info.task_types.length > 0).map((kind) => (
            <option key={kind} value={kind}>
              {t(`by.${kind}`)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="faint">{t('timeline.sort')} </span>
        <select value={sort} onChange={({ target }) => dispatch({ bandSort: target.value })}>
          <option value="start">{t('sort.start')}</option>
          <option value="name">{t('sort.name')}</option>
          {info.metrics.map(({ id, title: english, help: text }) => (
            <option key={id} value={id} title={help(id, text)}>
              {title(id, english)}
            </option>
          ))}
        </select>
      </label>
      <SearchField />
      {hidden > 0 && (
        <button type="button" className="link" onClick={() => dispatch({ hidden: [] })}>
          {t('timeline.hidden', { count: hidden })}
        </button>
      )}
      <span className="grow" />
      <Viewing />
      <button
        type="button"
        className="tool"
        aria-label={t('timeline.zoom-in')}
        data-tip={`${t('timeline.zoom-in')}  w +`}
        onClick={() => zoom(0.5)}
      >
        +
      </button>
      <button
        type="button"
        className="tool"
        aria-label={t('timeline.zoom-out')}
        data-tip={`${t('timeline.zoom-out')}  s −`}
        onClick={() => zoom(2)}
      >
        −
      </button>
      <button type="button" onClick={() => scene.moveTo({ from: 0, to: scene.elapsedNs }, 0)}>
        {t('timeline.zoom-all')}
      </button>
    </div>
  );
}

function Viewing() {
  const { scene } = useSetting();
  const view = useSettledView(scene);
  const length = Math.round(view.to - view.from);
  const tenth = Math.max(1, 10 ** Math.floor(Math.log10(length / 10)));
  return (
    <span className="number" data-tip={t('timeline.view.help')}>
      {t('timeline.viewing', { from: timeText(view.from, tenth, view.to), span: duration(length) })}
    </span>
  );
}

export function Legend() {
  const { info } = useSetting();
  const off = useView((state) => state.off);
  const dispatch = useDispatch();
  const chip = (id: string, text: string, swatch: string) => (
    <button
      key={id}
      type="button"
      className={off.includes(id) ? 'tl-kind tl-off' : 'tl-kind'}
      aria-pressed={!off.includes(id)}
      onClick={() =>
        dispatch((state) => ({
          ...state,
          off: state.off.includes(id) ? state.off.filter((other) => other !== id) : [...state.off, id],
        }))
      }
    >
      <i className={`swatch ${swatch}`} /> {text}
    </button>
  );
  return (
    <fieldset className="tl-legend" aria-label={t('timeline.legend')}>
      {SHOWN.map((state) => chip(state, t(`state.${state}`), `state-${state}`))}
      {chip('samples', t('timeline.samples'), 'tl-samples')}
      {chip('arrows', t('timeline.arrows'), 'tl-arrow')}
      {info.task_types.length > 0 && chip('tasks', t('timeline.tasks'), 'tl-task')}
      <span className="tl-kind faint">
        <i className="swatch tl-many" /> {t('timeline.many')}
      </span>
    </fieldset>
  );
}
