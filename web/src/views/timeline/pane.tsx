// The timeline. Below the other views (`strip`) it is the overview and the bands; as the Platform tab (`full`) it has a
// toolbar, legend, charts, and the picked interval's details.

import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { Bands as BandList, Info, IntervalInfo, WaitChain } from '../../api/types';
import { t } from '../../base/texts';
import { arrangedBands, heightOf } from '../../logic/timeline/bands';
import { chainOf } from '../../logic/timeline/chain';
import { covering } from '../../logic/timeline/describe';
import { Scene } from '../../logic/timeline/scene';
import { panBy, showRange, wheelFactor, wholeNs, zoomAbout } from '../../logic/timeline/viewport';
import { useKeys } from '../../logic/use-keys';
import { filterInRange, filterOutRange } from '../../state/actions';
import { useDispatch, useStore, useView } from '../../state/provider';
import { asApiError, type Resource, useCall } from '../../state/resource';
import { Split } from '../parts/split';
import { Empty, Failure, Loaded } from '../parts/states';
import { AxisLine, Bands } from './bands';
import { ChartRows } from './charts';
import { useBandData } from './data';
import { Detail } from './detail';
import { Overview } from './overview';
import { AXIS_HEIGHT, LABELS, type Setting, SettingContext } from './setting';
import './timeline.css';
import { Legend, TimelineToolbar } from './toolbar';
import { useSpans } from './use-spans';

type Mode = 'strip' | 'full';

export default function TimelinePane({ mode }: { mode: Mode }) {
  const info = useCall('info');
  const { by, sort } = useView((state) => ({ by: state.bands, sort: state.bandSort }));
  const bands = useCall('bands', { params: { by, sort } });
  return (
    <div className={`timeline timeline-${mode}`}>
      <Loaded of={info} rows={4}>
        {(known) => (
          <Loaded of={bands} rows={mode === 'full' ? 12 : 4}>
            {({ bands: list }) => <Timeline mode={mode} info={known} bands={list} />}
          </Loaded>
        )}
      </Loaded>
    </div>
  );
}

interface Props {
  mode: Mode;
  info: Info;
  bands: BandList['bands'];
}

function Timeline({ mode, info, bands }: Props) {
  const scene = useScene(info.elapsed_ns);
  const by = useView((state) => state.bands);
  const arrangement = useView(({ pinned, hidden, expanded, search, off }) => ({
    pinned,
    hidden,
    expanded,
    search,
    tasks: !off.includes('tasks'),
  }));
  const rows = useMemo(() => {
    const known = bands.map((band) => ({ ...band, state: by !== 'task' }));
    return arrangedBands(known, mode === 'full' ? arrangement : { ...arrangement, search: '', tasks: false });
  }, [bands, by, arrangement, mode]);
  const spansOf = useSpans(scene, by, rows);
  const data = useBandData(scene, info, useDeviceRatio());
  const interval = usePicked();
  const picked = useView((state) => state.picked);
  const known = picked ? covering(interval.data, picked.thread, picked.at) : null;
  useTimelineKeys(mode, scene, known);
  const setting: Setting = { scene, info, by, rows, data, spansOf, picked: known, chain: useChain(known) };
  const body = (
    <Body mode={mode} scene={scene} bandsHeight={heightOf(rows)}>
      {data.error !== null && <Failure error={asApiError(data.error).text} hint={asApiError(data.error).advice} />}
      <Bands empty={<NoBands search={mode === 'full' ? arrangement.search : ''} />} />
    </Body>
  );
  return (
    <SettingContext value={setting}>{mode === 'strip' ? body : <Full interval={interval}>{body}</Full>}</SettingContext>
  );
}

/** The reason for missing bands, and the remedy. */
function NoBands({ search }: { search: string }) {
  const by = useView((state) => state.bands);
  const dispatch = useDispatch();
  const kind = t(`band-kind.${by}`);
  return (
    <Empty>
      {search === '' ? t('timeline.bands.none', { kind }) : t('timeline.bands.no-match', { kind, search })}{' '}
      {search !== '' && (
        <button type="button" onClick={() => dispatch({ search: '' })}>
          {t('search.clear')}
        </button>
      )}
    </Empty>
  );
}

function Full({ interval, children }: { interval: Resource<IntervalInfo>; children: ReactNode }) {
  return (
    <>
      <TimelineToolbar />
      <Legend />
      <Split name="timeline-detail" second="right" size={0.21} least={180}>
        {children}
        <Detail interval={interval} />
      </Split>
    </>
  );
}

interface BodyProps {
  mode: Mode;
  scene: Scene;
  /** Height of all bands; the charts follow directly below a few bands. */
  bandsHeight: number;
  children: ReactNode;
}

/** Space below the last band, px. */
const SPARE = 24;

/** The parts along the time axis; the wheel zooms them. */
function Body({ mode, scene, bandsHeight, children }: BodyProps) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const wheel = (event: WheelEvent) => {
      const x = event.clientX - element.getBoundingClientRect().left - LABELS;
      if (x < 0 || x > scene.width) return;
      event.preventDefault();
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        scene.moveTo(panBy(scene.view, sideways, scene.width, scene.elapsedNs));
      } else {
        const factor = wheelFactor(event.deltaY, event.deltaMode);
        scene.moveTo(zoomAbout(scene.view, x, scene.width, factor, scene.elapsedNs));
      }
    };
    // React's wheel listeners are passive: the page would scroll, and Ctrl would zoom it.
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  }, [scene]);
  return (
    <section className="tl-body" ref={box} aria-label={t('pane.timeline')}>
      <Overview height={mode === 'full' ? 40 : 26} />
      <AxisLine height={AXIS_HEIGHT} />
      <div
        className="tl-middle"
        style={{ maxHeight: mode === 'full' ? Math.max(bandsHeight + SPARE, 160) : undefined }}
      >
        {children}
      </div>
      {mode === 'full' && <ChartRows />}
    </section>
  );
}

/** The scene, in sync with the view's zoom. */
function useScene(elapsedNs: number): Scene {
  const store = useStore();
  const dispatch = useDispatch();
  const zoom = useView((state) => state.zoom);
  const scene = useMemo(() => new Scene(elapsedNs, store.get().zoom), [elapsedNs, store]);
  useEffect(() => scene.follow(zoom), [scene, zoom]);
  useEffect(() => {
    const stop = scene.onSettled((view) => dispatch({ zoom: scene.isWhole ? null : wholeNs(view) }));
    return () => {
      stop();
      scene.stop();
    };
  }, [scene, dispatch]);
  return scene;
}

/** Device pixels per CSS pixel; changes when the window moves to another screen or the page is zoomed. */
function useDeviceRatio(): number {
  const [ratio, setRatio] = useState(window.devicePixelRatio || 1);
  useEffect(() => {
    const query = window.matchMedia(`(resolution: ${ratio}dppx)`);
    const change = () => setRatio(window.devicePixelRatio || 1);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, [ratio]);
  return ratio;
}

/** The facts about the picked interval; the other views follow its object. */
function usePicked(): Resource<IntervalInfo> {
  const picked = useView((state) => state.picked);
  const dispatch = useDispatch();
  const interval = useCall('interval', { params: { ...picked }, when: picked !== null });
  const object = picked && covering(interval.data, picked.thread, picked.at)?.object;
  useEffect(() => {
    if (object) dispatch({ object }, 'touch');
  }, [object, dispatch]);
  return interval;
}

/** What the picked wait was because of. */
function useChain(picked: IntervalInfo | null): WaitChain | null {
  const wait = picked && picked.wait_ns > 0 ? picked : null;
  const params = wait ? { thread: wait.thread, at: wait.start_ns } : {};
  const chain = useCall('chain', { params, without: { time: true }, when: wait !== null });
  return chainOf(chain.data, wait);
}

const PAN_STEP = 0.15;
const ZOOM_STEP = 0.7;

function useTimelineKeys(mode: Mode, scene: Scene, picked: IntervalInfo | null): void {
  const store = useStore();
  const dispatch = useDispatch();
  const mark = () => store.get().mark;
  const move = (view: Scene['view'], rest?: number) => {
    scene.moveTo(view, rest);
    return true;
  };
  const pan = (by: number) => move(panBy(scene.view, by * PAN_STEP * scene.width, scene.width, scene.elapsedNs));
  const onMark = (change: typeof filterInRange) => () => {
    const range = mark();
    if (range) dispatch((state) => change(state, range));
    return range !== null;
  };
  const step = (at: number) => {
    if (!picked || at < 0 || at >= scene.elapsedNs) return false;
    dispatch({ picked: { thread: picked.thread, at } }, 'touch');
    return true;
  };
  useKeys({
    pan: ({ key }) => pan(key === 'a' ? -1 : 1),
    'zoom-in': ({ key }) => {
      const x = scene.pointer?.x ?? scene.width / 2;
      const factor = key === 'w' || key === '+' ? ZOOM_STEP : 1 / ZOOM_STEP;
      return move(zoomAbout(scene.view, x, scene.width, factor, scene.elapsedNs));
    },
    zoom: () => {
      const range = mark();
      if (range) dispatch({ zoom: range, mark: null });
      else if (picked) move(showRange({ from: picked.start_ns, to: picked.end_ns }, scene.elapsedNs), 0);
      return range !== null || picked !== null;
    },
    'zoom-all': () => move({ from: 0, to: scene.elapsedNs }, 0),
    'filter-in': onMark(filterInRange),
    'filter-out': onMark(filterOutRange),
    interval: ({ key }) => picked !== null && step(key === 'n' ? picked.end_ns : picked.start_ns - 1),
    page: ({ key }) => mode === 'full' && scene.toEnd(key),
    collapse: () => mode === 'full' && pan(-1),
    expand: ({ key }) => mode === 'full' && key === 'ArrowRight' && pan(1),
    escape: () => {
      if (!mark() && !store.get().picked) return false;
      dispatch(mark() ? { mark: null } : { picked: null }, mark() ? 'touch' : 'step');
      return true;
    },
  });
}
