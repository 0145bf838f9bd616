// The recording: program, time and host.

import type { Document, Info } from '../../api/types';
import { dateText, t, title } from '../../base/texts';
import { count, duration } from '../../base/units';

export function Platform({ info, summary }: { info: Info; summary: Document }) {
  const { manifest } = info;
  const cpus = (manifest.cpus ?? {}) as { online?: number; usable?: number; model?: string };
  const command = Array.isArray(manifest.command) ? manifest.command.map(String).join(' ') : '';
  const attached = new Set((manifest.target_pids as number[] | undefined) ?? []);
  const processes = new Map(
    info.threads.filter(({ pid }) => attached.has(pid)).map(({ pid, process }) => [pid, process]),
  );
  const names = [...processes].map(([pid, process]) => `${process} (${pid})`);
  const started = new Date(Number(manifest.started_at) * 1000);
  const rows: [string, string][] = [
    [t('summary.command'), command || names.join(', ')],
    [t('result.analysis'), `${manifest.analysis}`],
    [t('summary.started'), dateText(started)],
    [t('summary.exit'), manifest.exit_status === null ? '' : String(manifest.exit_status ?? '')],
    [title('threads', 'Threads'), count(Number(summary.threads))],
    [title('processes', 'Processes'), count(Number(summary.processes))],
    [t('summary.host'), String(manifest.host ?? '')],
    [t('summary.kernel'), String(manifest.kernel ?? '')],
    [
      t('summary.cpu'),
      `${cpus.model ?? ''} · ${t('summary.cpus', { usable: cpus.usable ?? '?', online: cpus.online ?? '?' })}`,
    ],
    [t('summary.events'), count(Number(manifest.events))],
    [t('summary.sampling'), duration(Number(manifest.sampling_interval_ns))],
    [t('summary.overhead'), duration(Number(manifest.collector_cpu_ns))],
    [t('summary.version'), String(manifest.dwell_version ?? '')],
  ];
  return (
    <>
      <h2>{t('summary.collection')}</h2>
      <table className="table facts">
        <tbody>
          {rows
            .filter(([, value]) => value !== '')
            .map(([name, value]) => (
              <tr key={`${name} ${value}`}>
                <th scope="row">{name}</th>
                <td>{value}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </>
  );
}
