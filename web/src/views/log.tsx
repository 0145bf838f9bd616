import { t } from '../base/texts';
import { useCall, useReport } from '../state/resource';
import { Loaded } from './parts/states';

/** The log of collection and finalization, and what was lost. */
export default function LogView() {
  const log = useCall('log');
  const losses = useReport('losses');
  return (
    <div className="scroll pad">
      <h2>{t('log.losses')}</h2>
      <Loaded of={losses} rows={3}>
        {({ rows = [] }) =>
          rows.length === 0 ? (
            <p className="faint">{t('log.no-losses')}</p>
          ) : (
            <table className="table">
              <tbody>
                {rows.map((row) => (
                  <tr key={String(row.loss)}>
                    <th scope="row">{String(row.loss)}</th>
                    <td className="number">{Number(row.count).toLocaleString('en')}</td>
                    <td>{String(row.missing ?? '')}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
      <h2>{t('tab.log')}</h2>
      <Loaded of={log} rows={12}>
        {({ text }) => <pre className="log">{text}</pre>}
      </Loaded>
    </div>
  );
}
