// The form of a new collection: what, how, and the same as a command line. What cannot be is told while one types.

import { type FormEvent, useEffect, useId, useState } from 'react';
import { fetchPlan, startCollection } from '../../api/collections';
import type { CollectionPlan } from '../../api/types';
import { type TextKey, t } from '../../base/texts';
import { type CollectForm, EMPTY_FORM, requestOf } from '../../logic/collect';
import { asApiError } from '../../state/resource';
import { ProcessList } from './process-list';

/** After the last key, until the server is asked. */
const PAUSE_MS = 250;

const KINDS: readonly CollectForm['kind'][] = ['program', 'process', 'cgroup', 'machine'];
const ANALYSES: readonly CollectForm['analysis'][] = ['threading', 'latency'];
const OPTIONS = ['sockets', 'system', 'exactFibers', 'startPaused'] as const;
const OPTION_TEXTS: Record<(typeof OPTIONS)[number], [title: TextKey, tip: TextKey]> = {
  sockets: ['collect.sockets', 'collect.sockets.tip'],
  system: ['collect.system', 'collect.system.tip'],
  exactFibers: ['collect.fibers', 'collect.fibers.tip'],
  startPaused: ['collect.paused', 'collect.paused.tip'],
};

export function NewCollection({ started }: { started: () => void }) {
  const [form, setForm] = useState<CollectForm>(EMPTY_FORM);
  const [failure, setFailure] = useState('');
  const [busy, setBusy] = useState(false);
  const set = (changed: Partial<CollectForm>) => setForm((form) => ({ ...form, ...changed }));
  const request = requestOf(form);
  const plan = usePlan(form);
  const fault = typeof request === 'string' ? t(`collect.fault.${request}`) : (plan?.problem ?? '');
  const isEmpty = form.kind === 'program' ? form.command.trim() === '' : form.kind === 'process' && !form.pids.length;
  const start = (event: FormEvent) => {
    event.preventDefault();
    if (typeof request === 'string') return;
    setBusy(true);
    setFailure('');
    startCollection(request)
      .then(started, (reason) => setFailure(asApiError(reason).text))
      .finally(() => setBusy(false));
  };
  return (
    <form className="collect" onSubmit={start} aria-label={t('collect.new')}>
      <Choice
        label={t('collect.target')}
        values={KINDS}
        value={form.kind}
        title={kindTitle}
        set={(kind) => set({ kind })}
      />
      <Target form={form} set={set} />
      <Choice
        label={t('result.analysis')}
        values={ANALYSES}
        value={form.analysis}
        title={analysisTitle}
        set={(analysis) => set({ analysis })}
      />
      <fieldset>
        <legend>{t('collect.also')}</legend>
        {OPTIONS.map((option) => (
          <label key={option} data-tip={t(OPTION_TEXTS[option][1])}>
            <input
              type="checkbox"
              checked={form[option]}
              onChange={({ target }) => set({ [option]: target.checked })}
            />
            {t(OPTION_TEXTS[option][0])}
          </label>
        ))}
      </fieldset>
      <TextField
        label={t('collect.duration')}
        example="10s"
        size={8}
        value={form.duration}
        set={(duration) => set({ duration })}
      />
      <div className="collect-start">
        <button type="submit" className="primary" disabled={busy || isEmpty || fault !== ''}>
          {t('collect.start')}
        </button>
        <span className="bad" role="status">
          {failure || (isEmpty ? '' : fault)}
        </span>
      </div>
      {plan && !isEmpty && (
        <p className="faint">
          {t('collect.same')} <code>{plan.command}</code>
        </p>
      )}
    </form>
  );
}

const kindTitle = (kind: CollectForm['kind']) => t(`collect.kind.${kind}`);
const analysisTitle = (analysis: CollectForm['analysis']) => t(`collect.analysis.${analysis}`);

/** What the server says of the form, after a pause in typing. */
function usePlan(form: CollectForm): CollectionPlan | null {
  const [plan, setPlan] = useState<CollectionPlan | null>(null);
  const request = requestOf(form);
  const key = typeof request === 'string' ? '' : JSON.stringify(request);
  useEffect(() => {
    if (key === '') return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      fetchPlan(JSON.parse(key), abort.signal).then(
        (next) => !abort.signal.aborted && setPlan(next),
        (reason) => !abort.signal.aborted && setPlan({ command: '', problem: asApiError(reason).text }),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key]);
  return plan;
}

function Target({ form, set }: { form: CollectForm; set: (changed: Partial<CollectForm>) => void }) {
  switch (form.kind) {
    case 'program':
      return (
        <>
          <TextField
            label={t('collect.command')}
            example="./app --its args"
            value={form.command}
            set={(command) => set({ command })}
          />
          <TextField label={t('collect.folder')} value={form.folder} set={(folder) => set({ folder })} />
        </>
      );
    case 'process':
      return <ProcessList chosen={form.pids} choose={(pids) => set({ pids })} />;
    case 'cgroup':
      return (
        <TextField
          label={t('collect.kind.cgroup')}
          example="/system.slice/nginx.service"
          value={form.cgroup}
          set={(cgroup) => set({ cgroup })}
        />
      );
    case 'machine':
      return null;
  }
}

interface TextFieldProps {
  label: string;
  example?: string;
  value: string;
  set: (value: string) => void;
  /** Its width in letters; without, it takes the line. */
  size?: number;
}

function TextField({ label, example, value, set, size }: TextFieldProps) {
  const id = useId();
  return (
    <div className="collect-field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className={size ? undefined : 'wide'}
        size={size}
        spellCheck={false}
        autoCapitalize="off"
        placeholder={example}
        value={value}
        onChange={({ target }) => set(target.value)}
      />
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  values: readonly T[];
  value: T;
  title: (value: T) => string;
  set: (value: T) => void;
}

function Choice<T extends string>({ label, values, value, title, set }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset>
      <legend>{label}</legend>
      {values.map((each) => (
        <label key={each}>
          <input type="radio" name={name} checked={each === value} onChange={() => set(each)} />
          {title(each)}
        </label>
      ))}
    </fieldset>
  );
}
