// Global Counters: a curve for each counter of the program and of the machine, with value and rate under the mouse.

import { Fragment, useMemo } from 'react';
import type { CounterCurves } from '../../api/types';
import { t } from '../../base/texts';
import { chartQuestion } from '../../logic/timeline/charts';
import {
  at,
  type Counter,
  curveOf,
  isOfMachine,
  isRate,
  isSilent,
  nameOf,
  rateText,
  sections,
  valueText,
} from '../../logic/timeline/counters';
import { useCall } from '../../state/resource';
import { CurveRow } from './curve';
import { useFollowing } from './follow';
import { useSetting } from './setting';

export function CounterRows() {
  const { scene, info } = useSetting();
  const question = useFollowing(scene, () => chartQuestion(scene.view, Math.max(200, scene.width), scene.elapsedNs));
  const curves = useCall('counters', { params: question, without: { time: true }, when: info.counters > 0 }).data;
  if (!curves || curves.counters.length === 0) return null;
  const heard = curves.counters.filter((counter) => !isSilent(counter));
  const silent = curves.counters.filter(isSilent);
  const rows = (counters: Counter[]) =>
    sections(counters).map((section, _, all) => (
      <Fragment key={section.domain}>
        {all.length > 1 && <DomainCaption domain={section.domain} />}
        {section.counters.map((counter) => (
          <CounterRow key={counter.id} curves={curves} counter={counter} all={heard} />
        ))}
      </Fragment>
    ));
  const own = heard.filter((counter) => !isOfMachine(counter));
  const machine = heard.filter(isOfMachine);
  const silentOf = (wanted: boolean) => silent.filter((counter) => isOfMachine(counter) === wanted);
  return (
    <>
      {own.length > 0 && <Caption text={t('counter.title')} silent={silentOf(false)} />}
      {rows(own)}
      {machine.length + silentOf(true).length > 0 && (
        <Caption text={t(own.length > 0 ? 'counter.machine' : 'counter.title')} silent={silentOf(true)} />
      )}
      {rows(machine)}
    </>
  );
}

/** The heading of a domain's counters; a socket's has both addresses, which need more room than a label. */
function DomainCaption({ domain }: { domain: string }) {
  return (
    <div className="tl-row tl-caption tl-caption-domain">
      <div className="tl-label">{domain || t('counter.no-domain')}</div>
    </div>
  );
}

function Caption({ text, silent = [] }: { text: string; silent?: Counter[] }) {
  return (
    <div className="tl-row tl-caption">
      <div className="tl-label" data-tip={t('counter.help')}>
        {text}
      </div>
      {silent.length > 0 && (
        <span className="faint ellipsis">
          {t('counter.silent', { names: silent.map(({ name }) => name).join(', ') })}
        </span>
      )}
    </div>
  );
}

interface RowProps {
  curves: CounterCurves;
  counter: Counter;
  all: readonly Counter[];
}

function CounterRow({ curves, counter, all }: RowProps) {
  const { domain, process, unit, kind } = counter;
  const name = nameOf(counter, all);
  const { mean, peak, low, high } = useMemo(() => curveOf(counter), [counter]);
  const series = {
    id: name,
    title: name,
    unit,
    max: high - low,
    mean: mean.map((value) => value - low),
    peak: peak.map((value) => value - low),
  };
  const readout = (time: number | null) => {
    const known = time === null ? null : at(curves, counter, time);
    return known ? readoutOf(counter, known) : scaleOf(counter, low, high);
  };
  const about = [domain && `${domain}::${counter.name}`, process, t(kind === 'sum' ? 'counter.sum' : 'counter.set')];
  return (
    <CurveRow
      name={name}
      tip={about.filter(Boolean).join(' · ')}
      description={`${t('counter.title')}: ${name}`}
      over={curves}
      series={series}
      target={null}
      readout={readout}
    />
  );
}

function readoutOf({ unit, kind }: Counter, { value, rate }: { value: number; rate: number }): string {
  return t('counter.value', { value: valueText(value, unit), rate: rateText(rate, kind === 'sum' ? unit : '') });
}

/** The value of the curve's full height. */
function scaleOf(counter: Counter, low: number, high: number): string {
  const { unit } = counter;
  const text = (value: number) => (isRate(counter) ? rateText(value, unit) : valueText(value, unit));
  return `${low === 0 ? '0' : text(low)} – ${text(high)}`;
}
