// The stacks behind the selected row, the heaviest first: "Viewing 1 of 347 selected stacks, 8.1 % (167 s of 2,063 s)".

import { useEffect, useState } from 'react';
import type { StackPane as Stack } from '../../api/types';
import { t, word } from '../../base/texts';
import { baseName, count, duration, percent } from '../../base/units';
import { tableCsv } from '../../logic/copy';
import { useKeys } from '../../logic/use-keys';
import { filterIn } from '../../state/actions';
import { useDispatch, useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { STACK_KINDS } from '../../state/view-state';
import { openContextMenu, placeOf } from '../parts/context-menu';
import { Empty, Loaded } from '../parts/states';
import { CopyMenu, Toolbar } from '../parts/toolbar';
import { useSubjects } from '../parts/use-subjects';

/** Stacks of the selected Bottom-up row, or of one object; an empty name is all objects. */
export function StackPane({ object }: { object?: string }) {
  const { kind, groupBy, selection } = useView((state) => ({
    kind: state.stackKind,
    groupBy: state.groupBy,
    selection: object === undefined ? state.selection : [],
  }));
  const dispatch = useDispatch();
  const [index, setIndex] = useState(0);
  const question = JSON.stringify([kind, groupBy, selection, object]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new question begins with its heaviest stack.
  useEffect(() => setIndex(0), [question]);
  const stack = useCall('stacks', {
    change: (state) => (object ? filterIn(state, 'object', object) : state),
    params: {
      kind,
      index: index > 0 ? index : undefined,
      'group-by': selection.length > 0 ? groupBy.join(',') : undefined,
      path: selection.length > 0 ? JSON.stringify(selection) : undefined,
    },
  });
  const step = (by: number) => {
    const last = (stack.data?.count ?? 1) - 1;
    setIndex(Math.max(0, Math.min(last, index + by)));
    return true;
  };
  useKeys({ stack: ({ key }) => step(key === '>' ? 1 : -1) });
  return (
    <section className="pane stack-pane" aria-label={t('stack.title')}>
      <Toolbar>
        <select
          aria-label={t('stack.kind')}
          value={kind}
          onChange={({ target }) =>
            dispatch({ stackKind: STACK_KINDS.find((known) => known === target.value) ?? 'wait' }, 'touch')
          }
        >
          {STACK_KINDS.map((known) => (
            <option key={known} value={known}>
              {t(`stack.${known}`)}
            </option>
          ))}
        </select>
        <span className="grow" />
        {stack.data && stack.data.count > 0 && (
          <CopyMenu text={() => stackText(stack.data)} csv={() => stackCsv(stack.data)} />
        )}
      </Toolbar>
      <Loaded of={stack}>
        {(data) => (data.count === 0 ? <Empty>{t('stack.none')}</Empty> : <StackView stack={data} step={step} />)}
      </Loaded>
    </section>
  );
}

function StackView({ stack, step }: { stack: Stack; step: (by: number) => void }) {
  const { count: stacks, index, weight_ns: weight, total_ns: total, waits } = stack;
  const share = total > 0 ? weight / total : 0;
  return (
    <>
      <div className="stack-head">
        <button
          type="button"
          className="tool"
          aria-label={t('stack.previous')}
          disabled={index === 0}
          onClick={() => step(-1)}
        >
          ◂
        </button>
        <span>
          {t('stack.viewing', { index: index + 1, count: count(stacks) })}
          <br />
          <strong>{percent(share)}</strong> ({t('stack.weight', { weight: duration(weight), total: duration(total) })}
          {waits > 0 && `, ${t('stack.waits', { count: count(waits) })}`})
        </span>
        <button
          type="button"
          className="tool"
          aria-label={t('stack.next')}
          disabled={index + 1 >= stacks}
          onClick={() => step(1)}
        >
          ▸
        </button>
      </div>
      <Frames stack={stack} />
    </>
  );
}

export function Frames({ stack }: { stack: Pick<Stack, 'frames' | 'end'> }) {
  const dispatch = useDispatch();
  const groupsOf = useSubjects();
  return (
    <ol className="frames">
      {stack.frames.map((frame, at) => {
        const { function: name, module, file, line, inlined, kernel, system } = frame;
        const place = file ? `${baseName(file)}${line > 0 ? `:${line}` : ''}` : baseName(module);
        const tip = [name, module, file && `${file}:${line}`, inlined && t('stack.inlined')]
          .filter(Boolean)
          .join(' · ');
        return (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: a recursive function is on the stack more than once.
            key={at}
            className={kernel || system ? 'frame frame-system' : 'frame'}
            data-tip={tip}
            onContextMenu={(event) => openContextMenu(event, placeOf(event), groupsOf([{ level: 'function', name }]))}
          >
            <button
              type="button"
              className="frame-name"
              onClick={() => dispatch({ tab: 'caller-callee', function: name })}
            >
              {inlined && <span className="faint">⤷ </span>}
              {name}
            </button>
            <button
              type="button"
              className="frame-place"
              data-tip={`${t('tab.source')}: ${tip}`}
              onClick={() => dispatch({ tab: 'source', function: name, module })}
            >
              {place}
            </button>
          </li>
        );
      })}
      {stack.end && stack.end !== 'complete' && (
        <li className="faint frame-end">{t('stack.cut', { why: word('stack-end', stack.end) })}</li>
      )}
    </ol>
  );
}

function stackText(stack: Stack | undefined): string {
  const line = ({ function: name, file, line: number, module }: Stack['frames'][number]) =>
    `${name} (${file ? `${file}:${number}` : module})`;
  return (stack?.frames ?? []).map(line).join('\n');
}

function stackCsv(stack: Stack | undefined): string {
  const line = ({ function: name, module, file, line, inlined }: Stack['frames'][number]) => [
    name,
    module,
    file,
    line,
    inlined,
  ];
  return tableCsv([['function', 'module', 'file', 'line', 'inlined'], ...(stack?.frames ?? []).map(line)]);
}
