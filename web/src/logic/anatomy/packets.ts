// The stages of packets as lanes; the longest packet fills the width.

import type { ViewDocument } from '../../api/types';

/** The stages in the order of a packet's way, each with the phase that gives its colour. */
export const STAGES = [
  { id: 'device', phase: 'device', english: 'Device' },
  { id: 'ip', phase: 'IP', english: 'IP' },
  { id: 'tcp', phase: 'TCP', english: 'TCP' },
  { id: 'udp', phase: 'UDP', english: 'UDP' },
  { id: 'socket', phase: 'socket', english: 'Socket' },
  { id: 'scheduler', phase: 'scheduler', english: 'Wake-up' },
  { id: 'other', phase: 'kernel', english: 'Other' },
] as const;

export interface Lane {
  packet: number;
  cycles: number;
  parts: { id: string; phase: string; english: string; cycles: number; share: number }[];
}

/** One lane for each packet of the report. */
export function packetLanes(document: ViewDocument): Lane[] {
  const column = (id: string) => document.columns.findIndex((known) => known.id === id);
  const number = (values: readonly unknown[], id: string) => Number(values[column(id)] ?? 0);
  const longest = document.rows.reduce((most, { values }) => Math.max(most, number(values, 'packet_cycles')), 1);
  return document.rows.map(({ values }) => ({
    packet: number(values, 'packet'),
    cycles: number(values, 'packet_cycles'),
    parts: STAGES.map((stage) => {
      const cycles = number(values, stage.id);
      return { ...stage, cycles, share: cycles / longest };
    }).filter(({ cycles }) => cycles > 0),
  }));
}
