// One value of a table: text, number, bar, or bar and number.

import { causeColor } from '../../base/palette';
import { t } from '../../base/texts';
import { percent } from '../../base/units';
import {
  amount,
  asText,
  type ByClass,
  barParts,
  isByClass,
  isParts,
  type Kind,
  type Parts,
  partTexts,
} from '../../logic/values';
import type { NumberStyle } from '../../state/preferences';

interface Props {
  kind: Kind;
  value: unknown;
  /** The value whose bar fills the column. */
  full: number;
  /** The value of 100 %; null if shares make no sense. */
  total: number | null;
  style: NumberStyle;
}

export function Cell({ kind, value, full, total, style }: Props) {
  const number = amount(value);
  if (number === null) return <span className="cell-text">{asText(kind, value)}</span>;
  if (number === 0) return <span className="cell-number zero">0</span>;
  const text = style === 'percent' && total ? percent(number / total) : asText(kind, value);
  const bars =
    (style === 'bar' || style === 'bar-number') &&
    (kind === 'ns' || kind === 'by_class' || kind === 'parts') &&
    full > 0;
  if (!bars) return <span className="cell-number">{text}</span>;
  const tip = isByClass(value) ? classesText(value) : isParts(value) ? partTexts(value).join(' · ') : undefined;
  return (
    <span className="cell-bar" data-tip={tip}>
      <Bar value={value} number={number} full={full} />
      {style === 'bar-number' && <span className="cell-number">{text}</span>}
    </span>
  );
}

function Bar({ value, number, full }: { value: unknown; number: number; full: number }) {
  if (isParts(value) && !isByClass(value)) return <PartsBar parts={value} full={full} />;
  const parts = isByClass(value) ? barParts(value, full) : [{ name: 'plain', fraction: Math.abs(number) / full }];
  return (
    <span className="bar">
      {parts.map(({ name, fraction }) => (
        <i key={name} className={`fill fill-${name}`} style={{ width: `${Math.min(1, fraction) * 100}%` }} />
      ))}
    </span>
  );
}

/** Times by cause, side by side in one bar. */
export function PartsBar({ parts, full }: { parts: Parts; full: number }) {
  return (
    <span className="bar">
      {Object.entries(parts).map(([name, ns]) => (
        <i key={name} className="fill" style={{ width: `${(ns / full) * 100}%`, background: causeColor(name) }} />
      ))}
    </span>
  );
}

/** `Idle 1.2 s · Poor 300 ms`, for the hover. */
export function classesText(value: ByClass): string {
  const parts = barParts(value, 1).map(({ name, fraction }) => `${t(`class.${name}`)} ${asText('ns', fraction)}`);
  return parts.join(' · ');
}
