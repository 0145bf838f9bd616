import type { Document } from '../api/types';
import { lossText, t } from '../base/texts';
import { tableCsv, tableText } from '../logic/copy';
import { useCall, useReport } from '../state/resource';
import { Loaded } from './parts/states';
import { CopyMenu } from './parts/toolbar';

/** The log of collection and finalization, and what was lost. */
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
                    <td className="number">{Number(row.count).toLocaleString('en')}</td>
                    <td>{lossText(String(row.loss), String(row.missing ?? ''))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
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

function lossRows(losses: Document | undefined): unknown[][] {
  return (losses?.rows ?? []).map(({ loss, count, missing }) => [loss, count, missing]);
}
