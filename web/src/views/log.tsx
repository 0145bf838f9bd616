import type { Document } from '../api/types';
import { prose } from '../base/prose';
import { lossText, t, word } from '../base/texts';
import { count, span } from '../base/units';
import { tableCsv, tableText } from '../logic/copy';
import { useCall, useReport } from '../state/resource';
import { Loaded } from './parts/states';
import { CopyMenu } from './parts/toolbar';

/** The losses, the remarks, and the log of collection and finalization. */
export default function LogView() {
  const log = useCall('log');
  const losses = useReport('losses');
  return (
    <div className="scroll pad">
      <h2 className="with-copy">
        {t('log.losses')}
        <CopyMenu text={() => tableText(lossRows(losses.data))} csv={() => tableCsv(lossRows(losses.data))} />
      </h2>
      <Loaded of={losses} rows={3}>
        {({ rows = [] }) =>
          rows.length === 0 ? (
            <p className="faint">{t('log.no-losses')}</p>
          ) : (
            <table className="table facts losses">
              <tbody>
                {rows.map((row) => (
                  <tr key={String(row.loss)}>
                    <th scope="row">{String(row.loss)}</th>
                    <td className="severity">{word('severity', String(row.severity))}</td>
                    <td className="number">{count(Number(row.count))}</td>
                    <td className="number">{row.to_ns ? span(Number(row.from_ns), Number(row.to_ns)) : ''}</td>
                    <td>{lossText(String(row.loss), String(row.missing ?? ''))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
      {losses.data && <Remarks document={losses.data} />}
      <h2 className="with-copy">
        {t('tab.log')}
        <CopyMenu text={() => log.data?.text ?? ''} />
      </h2>
      <Loaded of={log} rows={12}>
        {({ text }) => <pre className="log">{text}</pre>}
      </Loaded>
    </div>
  );
}

/** The remarks of the collector and of finalization. */
function Remarks({ document: { notes, notes_parts: parts } }: { document: Document }) {
  const said = notes.map((note, at) => ({ note, of: parts?.[at] })).filter(({ of }) => of?.[0]?.id !== 'nothing-lost');
  if (said.length === 0) return null;
  return (
    <>
      <h2>{t('log.remarks')}</h2>
      <ul className="remarks">
        {said.map(({ note, of }) => (
          <li key={note}>{prose(note, of)}</li>
        ))}
      </ul>
    </>
  );
}

function lossRows(losses: Document | undefined): unknown[][] {
  return (losses?.rows ?? []).map(({ loss, severity, count, from_ns, to_ns, missing }) => [
    loss,
    severity,
    count,
    from_ns,
    to_ns,
    missing,
  ]);
}
