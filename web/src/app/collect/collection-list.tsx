// The collections that the page started: how each goes, and how it is steered.

import { useState } from 'react';
import { type SteeringWord, steerCollection } from '../../api/collections';
import type { CollectionInfo } from '../../api/types';
import { type TextKey, t } from '../../base/texts';
import { bytes, count, duration } from '../../base/units';
import { openResult } from '../../state/actions';
import { isRunning } from '../../state/collections';
import { useDispatch } from '../../state/provider';
import { asApiError } from '../../state/resource';
import { Live } from './live';

interface Props {
  collections: CollectionInfo[];
  /** Looks at them again, after one was steered. */
  refresh: () => void;
}

export function CollectionList({ collections, refresh }: Props) {
  return (
    <>
      {collections.map((collection) => (
        <Collection key={collection.id} collection={collection} refresh={refresh} />
      ))}
    </>
  );
}

function Collection({ collection, refresh }: { collection: CollectionInfo; refresh: () => void }) {
  const { result, command, state, elapsed_ns, threads, events, losses, bytes: size, output, problem } = collection;
  const dispatch = useDispatch();
  const open = () => dispatch((view) => openResult({ ...view, tab: 'summary' }, result));
  return (
    <section className="collection" aria-label={result} data-state={state}>
      <h3>
        <span className="collection-state">{t(`collect.state.${state}` as TextKey)}</span> {result}
      </h3>
      <code>{command}</code>
      <p>
        {duration(elapsed_ns)} · {t('collect.of.threads', { count: threads })} ·{' '}
        {t('collect.of.events', { count: count(events) })} · {bytes(size)}
        {losses > 0 && <span className="bad"> · {t('collect.of.losses', { count: count(losses) })}</span>}
      </p>
      {isRunning(collection) && <Steering collection={collection} refresh={refresh} />}
      {isRunning(collection) && <Live collection={collection} />}
      {state === 'finished' && (
        <button type="button" className="primary" onClick={open}>
          {t('collect.open')}
        </button>
      )}
      {problem && <pre className={state === 'failed' ? 'bad' : 'faint'}>{problem}</pre>}
      {output && <pre data-tip={t('collect.output')}>{output}</pre>}
    </section>
  );
}

function Steering({ collection, refresh }: { collection: CollectionInfo; refresh: () => void }) {
  const { id, state } = collection;
  const [mark, setMark] = useState('');
  const [failure, setFailure] = useState('');
  const tell = (word: SteeringWord, text = '') => {
    setFailure('');
    steerCollection(id, word, text).then(refresh, (reason) => setFailure(asApiError(reason).text));
  };
  if (state !== 'recording' && state !== 'paused') return null;
  return (
    <div className="collect-field">
      <button type="button" className="primary" onClick={() => tell('stop')}>
        {t('collect.stop')}
      </button>
      {state === 'paused' ? (
        <button type="button" onClick={() => tell('resume')}>
          {t('collect.resume')}
        </button>
      ) : (
        <button type="button" onClick={() => tell('pause')}>
          {t('collect.pause')}
        </button>
      )}
      <button type="button" onClick={() => tell('snapshot')} data-tip={t('collect.snapshot.tip')}>
        {t('collect.snapshot')}
      </button>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          tell('mark', mark);
          setMark('');
        }}
      >
        <input
          aria-label={t('collect.mark.text')}
          placeholder={t('collect.mark.text')}
          value={mark}
          onChange={({ target }) => setMark(target.value)}
        />
        <button type="submit" disabled={mark === ''}>
          {t('collect.mark')}
        </button>
      </form>
      <button type="button" className="quiet" onClick={() => tell('cancel')} data-tip={t('collect.cancel.tip')}>
        {t('collect.cancel')}
      </button>
      {failure && (
        <span className="bad" role="status">
          {failure}
        </span>
      )}
    </div>
  );
}
