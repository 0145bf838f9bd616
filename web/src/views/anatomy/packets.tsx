// The first packets: the time of each stage, as lanes and as a table.

import type { ViewDocument } from '../../api/types';
import { phaseColor } from '../../base/phases';
import { t, title } from '../../base/texts';
import { count } from '../../base/units';
import { packetLanes, STAGES } from '../../logic/anatomy/packets';
import { useDispatch } from '../../state/provider';
import { useTrace, useTraceView } from '../../state/trace';
import { field, ReportGrid, ReportToolbar } from '../grid/report-grid';
import { Split } from '../parts/split';
import { Empty, Loaded } from '../parts/states';
import './anatomy.css';

export default function PacketsView() {
  const packets = useTraceView('packets');
  const show = useShow();
  return (
    <section className="pane" aria-label={t('tab.packets')}>
      <ReportToolbar of={packets.data}>
        {STAGES.map(({ id, phase, english }) => (
          <span key={id} className="faint">
            <i className="swatch" style={{ background: phaseColor(phase) }} /> {title(id, english)}
          </span>
        ))}
      </ReportToolbar>
      <Loaded of={packets}>
        {(data) =>
          data.rows.length === 0 ? (
            <Empty>{t('anatomy.packets.none')}</Empty>
          ) : (
            <Split name="packets" second="right" size={0.5} least={240}>
              <Lanes document={data} show={show} />
              <ReportGrid
                name="packets"
                label={t('tab.packets')}
                document={data}
                onOpen={(row) => show(Number(field(data, row, 'packet')))}
              />
            </Split>
          )
        }
      </Loaded>
    </section>
  );
}

/** Shows a packet in the chart. */
function useShow(): (packet: number) => void {
  const info = useTrace('info').data;
  const parts = useTraceView('parts', { limit: 10_000 }).data;
  const dispatch = useDispatch();
  return (packet) => {
    const row = parts?.rows.find(
      (each) => field(parts, each, 'kind') === 'packet' && field(parts, each, 'number') === packet,
    );
    if (!parts || !row || !info) return;
    const ticks = (id: string) => Number(field(parts, row, id)) * info.ticks_per_cycle;
    dispatch({ tab: 'calls', zoom: { from: ticks('clock'), to: ticks('clock') + Math.max(ticks('part_cycles'), 1) } });
  };
}

function Lanes({ document, show }: { document: ViewDocument; show: (packet: number) => void }) {
  const lanes = packetLanes(document);
  return (
    <ol className="lanes" aria-label={t('tab.packets')}>
      {lanes.map(({ packet, cycles, parts }) => (
        <li key={packet}>
          <button
            type="button"
            className="lane"
            aria-label={t('anatomy.packet.tip', { number: packet, cycles: count(cycles) })}
            data-tip={parts.map(({ id, english, cycles: own }) => `${title(id, english)} ${count(own)}`).join(' · ')}
            onClick={() => show(packet)}
          >
            <span className="lane-name">{packet}</span>
            <span className="bar">
              {parts.map(({ id, phase, share }) => (
                <i key={id} className="fill" style={{ width: `${share * 100}%`, background: phaseColor(phase) }} />
              ))}
            </span>
            <span className="lane-number">{count(cycles)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}
