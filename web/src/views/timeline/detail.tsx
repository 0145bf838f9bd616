// All facts about the picked interval: what it was, where, and who ended it.

import type { IntervalInfo } from '../../api/types';
import { nameText } from '../../base/names';
import { t } from '../../base/texts';
import { duration } from '../../base/units';
import { exactTime } from '../../logic/timeline/axis';
import { covering, lengthOf, stateText, taskKindText, threadName } from '../../logic/timeline/describe';
import { walkFrom, walkTo } from '../../logic/timeline/walk';
import { filterIn, filterInRange } from '../../state/actions';
import { useDispatch, useView } from '../../state/provider';
import { type Resource, useCall } from '../../state/resource';
import type { Instant } from '../../state/view-state';
import { Story } from '../latency/story';
import { Failure, Loaded, Skeleton } from '../parts/states';
import { Frames } from '../stack/pane';
import { Chain } from './chain';
import { Selection } from './selection';
import { useSetting } from './setting';

export function Detail({ interval }: { interval: Resource<IntervalInfo> }) {
  const dispatch = useDispatch();
  const { picked, task, outlier, mark } = useView(({ picked, task, outlier, mark }) => ({
    picked,
    task,
    outlier,
    mark,
  }));
  const close = (
    <button
      type="button"
      className="quiet tl-close"
      aria-label={t('detail.close')}
      data-tip={t('detail.close')}
      onClick={() => dispatch({ picked: null, task: null })}
    >
      ×
    </button>
  );
  return (
    <section className="pane tl-detail" aria-label={t('detail.title')} aria-busy={interval.loading}>
      <div className="toolbar">
        <strong>{t('detail.title')}</strong>
        <span className="grow" />
        {(picked || task !== null) && close}
      </div>
      <div className="scroll">
        {mark && <Selection range={mark} />}
        {!picked && task === null && !mark && <p className="message faint">{t('detail.pick')}</p>}
        {picked && outlier !== '' && <Story id={outlier} at={picked.at} />}
        {task !== null && <PickedTask task={task} />}
        {picked && interval.error && interval.error.status === 404 && (
          <p className="message faint">{t('detail.absent')}</p>
        )}
        {picked && interval.error && interval.error.status !== 404 && (
          <Failure error={interval.error.text} hint={interval.error.advice} />
        )}
        {picked && !interval.data && interval.slow && <Skeleton rows={8} />}
        {picked && interval.data && <Known interval={interval.data} />}
      </div>
    </section>
  );
}

function Known({ interval }: { interval: IntervalInfo }) {
  const { info, chain } = useSetting();
  const name = threadName(info, interval.thread);
  return (
    <div className="tl-known">
      <h3>
        <i className={`swatch state-${interval.state}`} /> {stateText(interval.state)}{' '}
        {duration(interval.end_ns - interval.start_ns)}
      </h3>
      <p className="faint">{name}</p>
      <Buttons interval={interval} name={name} />
      <Facts interval={interval} />
      {chain && chain.thread === interval.thread && <Chain chain={chain} />}
      <h3>{t('detail.stack')}</h3>
      {interval.stack.length > 0 ? (
        <Frames stack={{ frames: interval.stack, end: '' }} />
      ) : (
        <p className="faint">{t('detail.no-stack')}</p>
      )}
      {interval.waker_stack.length > 0 && (
        <>
          <h3>{t('detail.waker-stack')}</h3>
          <Frames stack={{ frames: interval.waker_stack, end: '' }} />
        </>
      )}
    </div>
  );
}

/** A task of the program: its name, its time, and the program's data about it. */
function PickedTask({ task: row }: { task: number }) {
  const task = useCall('task', { params: { task: row } });
  const { info } = useSetting();
  const dispatch = useDispatch();
  const filters = info.filter_keys.some(({ id }) => id === 'task');
  return (
    <Loaded of={task} rows={5}>
      {({ name, domain, kind, start_ns: from, end_ns: to, end_thread: ender, finished, id, parent, metadata }) => (
        <div className="tl-known">
          <h3>
            {name} {duration(to - from)}
          </h3>
          <p className="faint">{[taskKindText(kind), domain].filter(Boolean).join(' · ')}</p>
          <p className="tl-buttons">
            <button type="button" onClick={() => dispatch({ zoom: { from, to: Math.max(to, from + 1) } })}>
              {t('detail.zoom')}
            </button>
            <button type="button" onClick={() => dispatch((state) => filterInRange(state, { from, to }))}>
              {t('detail.only-time')}
            </button>
            {filters && (
              <button type="button" onClick={() => dispatch((state) => filterIn(state, 'task', name))}>
                {t('detail.only-task')}
              </button>
            )}
          </p>
          <FactList
            facts={[
              [t('detail.from'), exactTime(from)],
              [t('detail.length'), duration(to - from)],
              [t('detail.parent'), parent],
              [t('detail.task-id'), id > 0 && String(id)],
              [t('detail.ended-by'), ender !== null && threadName(info, ender)],
              [t('detail.unfinished'), !finished && '✓'],
              ...metadata.map(([key, value]): Fact => [key, value]),
            ]}
          />
        </div>
      )}
    </Loaded>
  );
}

function Buttons({ interval, name }: { interval: IntervalInfo; name: string }) {
  const dispatch = useDispatch();
  const { scene } = useSetting();
  const { thread, start_ns: start, end_ns: end, object } = interval;
  const go = (at: number) => dispatch({ picked: { thread, at } }, 'touch');
  return (
    <p className="tl-buttons">
      <button type="button" aria-label={t('detail.previous')} disabled={start <= 0} onClick={() => go(start - 1)}>
        ◂
      </button>
      <button type="button" aria-label={t('detail.next')} disabled={end >= scene.elapsedNs} onClick={() => go(end)}>
        ▸
      </button>
      <button type="button" onClick={() => dispatch({ zoom: { from: start, to: end } })}>
        {t('detail.zoom')}
      </button>
      <button type="button" onClick={() => dispatch((state) => filterIn(state, 'thread', name))}>
        {t('detail.thread')}
      </button>
      {object && (
        <button type="button" onClick={() => dispatch((state) => filterIn(state, 'object', object))}>
          {t('detail.only-object')}
        </button>
      )}
    </p>
  );
}

function Facts({ interval }: { interval: IntervalInfo }) {
  const dispatch = useDispatch();
  const { info } = useSetting();
  const { object, object_type: type, reason, outcome, syscall, cpu, waker, waker_kind: kind } = interval;
  const way = walkFrom(interval, info.elapsed_ns);
  const link = (to: Instant | null) => to && <WalkLink to={to} />;
  const facts: Fact[] = [
    [t('detail.from'), exactTime(interval.start_ns)],
    [t('detail.length'), duration(interval.end_ns - interval.start_ns)],
    [t('detail.wait'), interval.wait_ns > 0 && duration(interval.wait_ns)],
    [t('detail.queue'), interval.runnable_ns > 0 && duration(interval.runnable_ns)],
    [
      t('detail.object'),
      object && (
        <>
          <button type="button" className="link" onClick={() => dispatch({ tab: 'objects', object })}>
            {nameText(object, 'object')}
          </button>{' '}
          <span className="faint">{nameText(type, 'object-type')}</span>
        </>
      ),
    ],
    [t('detail.waker'), link(way.waker) ?? wakerText(waker, kind)],
    [t('detail.holder'), link(way.holder)],
    [t('detail.reason'), nameText(reason, 'wait-kind')],
    [t('detail.outcome'), nameText(outcome, 'wait-kind')],
    [t('detail.syscall'), syscall],
    [t('detail.cpu'), cpu >= 0 && String(cpu)],
  ];
  return <FactList facts={facts} />;
}

/** Leads to what a thread did at an instant; Back leads back. */
function WalkLink({ to }: { to: Instant }) {
  const dispatch = useDispatch();
  const { info } = useSetting();
  const call = useCall('interval', { params: { ...to } });
  const target = covering(call.data, to.thread, to.at);
  return (
    <>
      <button
        type="button"
        className="link"
        data-tip={t('detail.walk')}
        onClick={() => dispatch((state) => walkTo(state, to, target, info.elapsed_ns))}
      >
        {threadName(info, to.thread)}
      </button>{' '}
      {target && (
        <span className="faint">
          {stateText(target.state)} {duration(lengthOf(target))}
        </span>
      )}
    </>
  );
}

/** Who ended a wait; a waker without a thread appears by its kind. */
function wakerText(waker: string, kind: string): string {
  const known = WAKERS.find((word) => word === kind);
  const about = known ? t(`waker.${known}`) : '';
  if (waker === '') return about;
  return about === '' ? waker : `${waker} (${about})`;
}

const WAKERS = ['other-thread', 'answer', 'publisher', 'kernel-thread', 'timer', 'network', 'interrupt'] as const;

type Fact = [name: string, value: React.ReactNode];

/** The facts that have a value. */
function FactList({ facts }: { facts: Fact[] }) {
  return (
    <dl className="tl-facts">
      {facts.map(
        ([name, value], at) =>
          value && (
            // biome-ignore lint/suspicious/noArrayIndexKey: a program may attach several data of one name.
            <div key={`${name} ${at}`}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
