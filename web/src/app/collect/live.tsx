// What the program does while its collection runs: its threads over time, and what they do and wait for at the moment.

import type { CollectionInfo, CollectionPicture, LiveAccount, PictureBand } from '../../api/types';
import type { State } from '../../base/palette';
import { t } from '../../base/texts';
import { duration, percent, real } from '../../base/units';
import { nowOf, stateOf, WAIT_KINDS, type WaitKind } from '../../logic/live';
import { usePicture } from '../../state/collections';
import { LiveCanvas } from './live-canvas';

const LEGEND: readonly State[] = ['running', 'preempted', ...new Set(WAIT_KINDS.map(([, state]) => state)), 'paused'];

export function Live({ collection }: { collection: CollectionInfo }) {
  const picture = usePicture(collection);
  if (!picture) return null;
  const { account } = picture;
  return (
    <section className="live" aria-label={t('live.title')}>
      <p className="faint">
        {t('live.sampled', { count: rate(picture.looks_per_second), cost: percent(picture.cost) })} {picture.note}
      </p>
      <div className="live-now">
        <div className="live-picture">
          <Labels picture={picture} />
          <LiveCanvas picture={picture} />
        </div>
        {account && <Account account={account} />}
      </div>
      <p className="live-legend faint">
        {LEGEND.map((state) => (
          <span key={state}>
            <Swatch state={state} /> {stateTitle(state)}
          </span>
        ))}
      </p>
      {account && account.objects.length > 0 && <Objects account={account} />}
    </section>
  );
}

/** Looks in a second: their rate is no more than that even. */
const rate = (looks: number) => (looks < 2 ? real(looks) : `${Math.round(looks)}`);

/** On the timeline a ready thread was preempted or woken; a look cannot tell. */
const stateTitle = (state: State) => (state === 'preempted' ? t('live.queue') : t(`state.${state}`));

function Swatch({ state }: { state: State }) {
  return <span className="swatch" style={{ background: `var(--state-${state})` }} />;
}

function Labels({ picture }: { picture: CollectionPicture }) {
  return (
    <div className="live-labels">
      <div className="live-curve-label faint">{t('live.concurrency')}</div>
      <ul aria-label={t(picture.by_process ? 'live.processes' : 'live.threads')}>
        {picture.bands.map((band) => (
          <Label key={`${band.pid} ${band.tid} ${band.name}`} band={band} columns={picture.columns} />
        ))}
      </ul>
    </div>
  );
}

function Label({ band, columns }: { band: PictureBand; columns: string }) {
  const now = nowOf(band, columns);
  const name = band.pid === 0 ? t('live.others', { count: band.threads }) : `${band.name} ${band.tid || band.pid}`;
  const title = now ? stateTitle(now) : t('state.absent');
  return (
    <li className="ellipsis" data-state={now ?? 'absent'} data-tip={`${name}: ${title}`}>
      <Swatch state={now ?? 'absent'} /> {name}
      {band.tid === 0 && band.pid !== 0 && <span className="faint"> × {band.threads}</span>}
    </li>
  );
}

function Account({ account }: { account: LiveAccount }) {
  const waits = WAIT_KINDS.map(([kind]): [WaitKind, number] => [
    kind,
    account.waits.find(([id]) => id === kind)?.[1] ?? 0,
  ]);
  const rows: [title: string, state: State, ns: number][] = [
    [t('state.running'), 'running', account.running_ns],
    [t('live.queue'), 'preempted', account.runnable_ns],
    ...waits
      .filter(([, ns]) => ns > 0)
      .map(([kind, ns]): [string, State, number] => [t(`live.kind.${kind}`), stateOf(kind), ns]),
  ];
  const all = rows.reduce((sum, [, , ns]) => sum + ns, 0);
  return (
    <table className="table live-account" aria-label={t('live.account')}>
      <thead>
        <tr>
          <th>{t('live.account')}</th>
          <th className="number">{t('live.account.threads')}</th>
          <th aria-label={t('live.share')} />
        </tr>
      </thead>
      <tbody>
        {rows.map(([title, state, ns]) => (
          <tr key={title}>
            <td>
              <Swatch state={state} /> {title}
            </td>
            <td className="number">{(ns / Math.max(account.length_ns, 1)).toFixed(2)}</td>
            <td className="live-bar">
              <span className="bar">
                <span
                  className="fill"
                  style={{ width: `${(100 * ns) / Math.max(all, 1)}%`, background: `var(--state-${state})` }}
                />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Objects({ account }: { account: LiveAccount }) {
  const hasHolders = account.objects.some(({ holder }) => holder !== '');
  const isExplained = account.objects.some(({ explanation }) => explanation !== '');
  return (
    <div className="live-objects">
      <table className="table" aria-label={t('live.objects')}>
        <thead>
          <tr>
            <th>{t('live.objects')}</th>
            <th className="number">{t('live.wait')}</th>
            <th className="number">{t('collect.threads')}</th>
            {hasHolders && <th>{t('live.holder')}</th>}
            {isExplained && <th>{t('live.explanation')}</th>}
          </tr>
        </thead>
        <tbody>
          {account.objects.map(({ name, kind, process, threads, wait_ns, holder, explanation }) => (
            <tr key={`${process} ${kind} ${name}`}>
              <td data-tip={`${process}: ${name}`}>
                <Swatch state={stateOf(kind as WaitKind)} /> {name} <span className="faint">{process}</span>
              </td>
              <td className="number">{duration(wait_ns)}</td>
              <td className="number">{threads}</td>
              {hasHolders && <td>{holder}</td>}
              {isExplained && (
                <td className="live-explanation" data-tip={explanation}>
                  {explanation}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
