// The curves below the bands, on the same time axis, each with its value under the cursor.

import type { Charts as ChartData } from '../../api/types';
import { help, t, title } from '../../base/texts';
import { real } from '../../base/units';
import { chartQuestion, type Series, valueAt } from '../../logic/timeline/charts';
import { useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { CounterRows } from './counters';
import { CurveRow } from './curve';
import { useFollowing } from './follow';
import { useSetting } from './setting';

const WHOLE_COLUMNS = 1600;

/** The curves of the whole time. */
export function useWholeCharts(): ChartData | undefined {
  const { scene } = useSetting();
  const params = { from: 0, to: Math.ceil(scene.elapsedNs), width: WHOLE_COLUMNS };
  return useCall('charts', { params, without: { time: true } }).data;
}

/** The server's curves for the visible time and a little more; requested while the view moves, but not in every frame. */
function useCharts(): ChartData | undefined {
  const { scene } = useSetting();
  const question = useFollowing(scene, () => chartQuestion(scene.view, Math.max(200, scene.width), scene.elapsedNs));
  return useCall('charts', { params: question, without: { time: true } }).data;
}

export function ChartRows() {
  const { info } = useSetting();
  const charts = useCharts();
  const whole = useWholeCharts();
  // One scale for the whole time: otherwise a curve would jump during a pan.
  const most = (id: string) => whole?.series.find((series) => series.id === id)?.max ?? 0;
  // The number of running threads is the same curve as CPU usage on another scale.
  const shown = charts?.series.filter(({ id }) => id !== 'running') ?? [];
  // All rows, up to half of the height.
  const rows = 2 + Math.min(info.counters, 12);
  return (
    <section
      className="tl-charts"
      aria-label={t('chart.region')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll to the curves outside the screen.
      tabIndex={0}
      style={{ flexBasis: `min(45%, ${rows * 46 + 2}px)` }}
    >
      {charts &&
        shown.map((series) => <ChartRow key={series.id} charts={charts} series={series} most={most(series.id)} />)}
      <CounterRows />
    </section>
  );
}

function ChartRow({ charts, series, most }: { charts: ChartData; series: Series; most: number }) {
  const { info } = useSetting();
  const wanted = useView((state) => state.target) ?? info.target_concurrency;
  const isPercent = series.unit === '%';
  const target = isPercent ? null : wanted;
  const max = Math.max(most, series.max, target ?? 0);
  const known = series.id === 'cpu_usage' || series.id === 'concurrency';
  const name = known ? t(`chart.${series.id as 'cpu_usage'}`) : title(series.id, series.title);
  const readout = (time: number | null) => {
    const value = time === null ? null : valueAt(charts, series, time);
    return value ? valueText(value, isPercent) : scaleText(max, isPercent);
  };
  return (
    <CurveRow
      name={name}
      tip={help(series.id, t('chart.help'))}
      description={`${name}. ${t('chart.help')}`}
      over={charts}
      series={{ ...series, max }}
      target={target}
      readout={readout}
    />
  );
}

function valueText({ mean, peak }: { mean: number; peak: number }, isPercent: boolean): string {
  const text = (value: number) => (isPercent ? `${real(value)} %` : real(value));
  return t('chart.value', { mean: text(mean), peak: text(peak) });
}

function scaleText(max: number, isPercent: boolean): string {
  return isPercent ? `0 – ${real(max)} %` : `0 – ${real(max)}`;
}
