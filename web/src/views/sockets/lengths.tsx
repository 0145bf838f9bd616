// The lengths of the waits on a socket and their causes: fast and slow waits are separate humps.

import { causeColor } from '../../base/palette';
import { t } from '../../base/texts';
import { amount, type Parts, partTexts } from '../../logic/values';
import { useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { PartsBar } from '../grid/cell';
import { HistogramCopy, LengthsChart } from '../objects/histogram';
import { Empty, Loaded } from '../parts/states';
import { Toolbar } from '../parts/toolbar';

export function LengthsPane({ name, causes }: { name: string; causes: Parts }) {
  const socket = useView((state) => state.socket);
  const lengths = useCall('socket-lengths', { params: { subject: socket } });
  return (
    <section className="pane" aria-label={t('histogram.title')}>
      <Toolbar>
        <strong className="ellipsis">{name}</strong>
        <span className="grow" />
        {lengths.data && <HistogramCopy of={lengths.data} />}
      </Toolbar>
      <Causes causes={causes} />
      <Loaded of={lengths} rows={5}>
        {(data) =>
          data.bins.length === 0 ? <Empty>{t('empty.waits')}</Empty> : <LengthsChart histogram={data} waits />
        }
      </Loaded>
    </section>
  );
}

/** The wait time by cause as one bar, with its legend. */
function Causes({ causes }: { causes: Parts }) {
  const whole = amount(causes) ?? 0;
  if (whole === 0) return null;
  const names = Object.keys(causes);
  return (
    <div className="causes">
      <PartsBar parts={causes} full={whole} />
      <ul className="cause-list" aria-label={t('sockets.causes')}>
        {partTexts(causes).map((text, at) => (
          <li key={names[at]}>
            <i className="swatch" style={{ background: causeColor(names[at] ?? '') }} /> {text}
          </li>
        ))}
      </ul>
    </div>
  );
}
