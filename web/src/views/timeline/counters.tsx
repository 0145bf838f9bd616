// Global Counters: a curve for each counter of the program and of the machine, with its value and its rate under the mouse.

import { useRef } from 'react';
import type { CounterCurves } from '../../api/types';
import { palette } from '../../base/palette';
import { t } from '../../base/texts';
import { chartQuestion } from '../../logic/timeline/charts';
import { rateText, valueText } from '../../logic/timeline/counters';
import { timeAt } from '../../logic/timeline/viewport';
import { usePreferences } from '../../state/preferences';
import { useCall } from '../../state/resource';
import { useFollowing } from './follow';
import { paintChart } from './paint-charts';
import { useSetting } from './setting';
import { useSceneWidth, useSurface } from './surface';
import { usePointer } from './use-pointer';

type Counter = CounterCurves['counters'][number];

export function CounterRows() {
  const { scene, info } = useSetting();
  const question = useFollowing(scene, () => chartQuestion(scene.view, Math.max(200, scene.width), scene.elapsedNs));
  const curves = useCall('counters', { params: question, without: { time: true }, when: info.counters > 0 }).data;
  if (!curves || curves.counters.length === 0) return null;
  return (
    <>
      <div className="tl-row tl-caption">
        <div className="tl-label" data-tip={t('counter.help')}>
          {t('counter.title')}
        </div>
      </div>
      {curves.counters.map((counter) => (
        <CounterRow key={counter.id} curves={curves} counter={counter} />
      ))}
    </>
  );
}

function CounterRow({ curves, counter }: { curves: CounterCurves; counter: Counter }) {
  const { scene } = useSetting();
  const { theme } = usePreferences();
  const pointer = usePointer('charts');
  const shown = useSceneWidth(scene);
  const readout = useRef<HTMLSpanElement>(null);
  const { name, domain, process, unit, kind, range } = counter;
  const low = Math.min(0, range[0]);
  const high = Math.max(range[1], low + 1e-9);
  const lifted = (values: readonly (number | null)[]) => values.map((value) => (value === null ? 0 : value - low));
  const series = {
    id: name,
    title: name,
    unit,
    max: high - low,
    mean: lifted(counter.mean),
    peak: lifted(counter.peak),
  };
  const canvas = useSurface(scene, (context, width, height) => {
    const x = scene.pointer?.x ?? null;
    if (readout.current) {
      const text = x === null ? null : readoutOf(curves, counter, timeAt(x, scene.view, width));
      readout.current.textContent = text ?? `${valueText(range[0], unit)} – ${valueText(range[1], unit)}`;
    }
    paintChart(context, {
      charts: { from: curves.from, to: curves.to, series: [] },
      series,
      view: scene.view,
      width,
      height,
      palette: palette(theme),
      target: null,
      cursor: x,
    });
  });
  const about = [domain && `${domain}::${name}`, process, t(kind === 'sum' ? 'counter.sum' : 'counter.set')];
  return (
    <div className="tl-row tl-chart">
      <div className="tl-label" data-tip={about.filter(Boolean).join(' · ')}>
        <span className="tl-name">{name}</span>
        <span className="faint number" ref={readout} />
      </div>
      <canvas
        ref={canvas}
        className="tl-canvas"
        role="img"
        aria-label={`${t('counter.title')}: ${name}`}
        style={{ width: shown }}
        {...pointer}
      />
    </div>
  );
}

/** Value and rate at a time; null before the first value. */
function readoutOf({ from, to }: CounterCurves, counter: Counter, time: number): string | null {
  const bin = Math.floor(((time - from) / Math.max(to - from, 1)) * counter.last.length);
  const value = counter.last[bin];
  if (value === null || value === undefined) return null;
  return t('counter.value', {
    value: valueText(value, counter.unit),
    rate: rateText(counter.rate[bin] ?? 0, counter.kind === 'sum' ? counter.unit : ''),
  });
}
