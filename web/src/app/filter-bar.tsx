// The share that the filters leave, and the filters themselves; every view obeys them at once.

import { useState } from 'react';
import type { ChoiceWord, Info } from '../api/types';
import { nameText } from '../base/names';
import { help, t, title } from '../base/texts';
import { count, percent, span } from '../base/units';
import { clearFilters, filtered, filterIn, filterOut, removeFilter } from '../state/actions';
import { useDispatch, useView } from '../state/provider';
import { useCall } from '../state/resource';
import { STACK_MODES, type ViewState } from '../state/view-state';
import { Menu } from '../views/parts/menu';
import { Loaded } from '../views/parts/states';

/** Filters with a list of their own, in this order, as far as the server knows them. */
const LISTED = ['process', 'thread', 'module', 'object', 'object-type', 'utilization', 'task', 'counter'];

export function FilterBar({ info }: { info: Info | undefined }) {
  const isFiltered = useView(filtered);
  const dispatch = useDispatch();
  const shown = useCall('filters', { params: { key: 'utilization', limit: 1 }, when: isFiltered });
  const keys = LISTED.flatMap((id) => info?.filter_keys.find((word) => word.id === id) ?? []);
  const share = shown.data ? percent(shown.data.shown) : '…';
  return (
    <section className="filter-bar" aria-label={t('filter.bar')}>
      <output className={isFiltered ? 'shown shown-part' : 'shown'}>
        {isFiltered ? t('filter.shown', { share }) : t('filter.none')}
      </output>
      {keys.map((word) => (
        <FilterMenu key={word.id} word={word} />
      ))}
      <OtherFilters known={keys.map(({ id }) => id)} words={info?.filter_keys ?? []} />
      <TimeFilters />
      {isFiltered && (
        <button
          type="button"
          className="link"
          data-tip={`${t('keys.clear')}  x`}
          onClick={() => dispatch(clearFilters)}
        >
          {t('filter.clear')}
        </button>
      )}
      <span className="grow" />
      <Options info={info} />
    </section>
  );
}

function FilterMenu({ word }: { word: ChoiceWord }) {
  const chosen = useView((state) => ({
    filters: state.filters.filter(({ key }) => key === word.id).map(({ value }) => value),
    excludes: state.excludes.filter(({ key }) => key === word.id).map(({ value }) => value),
  }));
  const dispatch = useDispatch();
  const shown = (value: string) => nameText(value, word.id);
  const texts = [...chosen.filters.map(shown), ...chosen.excludes.map((value) => `${t('filter.not')} ${shown(value)}`)];
  const label =
    texts.length === 0 ? t('filter.any') : texts.length <= 2 ? texts.join(', ') : `${texts[0]} +${texts.length - 1}`;
  const clear = () =>
    dispatch((state) => ({
      ...state,
      filters: state.filters.filter(({ key }) => key !== word.id),
      excludes: state.excludes.filter(({ key }) => key !== word.id),
    }));
  return (
    <span className={texts.length > 0 ? 'filter filter-set' : 'filter'}>
      <Menu
        label={
          <>
            <span className="faint">{title(word.id, word.title)}:</span> <span className="filter-value">{label}</span>
          </>
        }
        tip={texts.length > 0 ? texts.join(', ') : help(word.id, word.help)}
      >
        {() => <FilterList word={word} {...chosen} />}
      </Menu>
      {texts.length > 0 && (
        <button
          type="button"
          className="remove"
          aria-label={t('filter.remove', { key: title(word.id, word.title), value: texts.join(', ') })}
          onClick={clear}
        >
          ×
        </button>
      )}
    </span>
  );
}

const LIST_LIMIT = 50;

function FilterList({ word, filters, excludes }: { word: ChoiceWord; filters: string[]; excludes: string[] }) {
  const [search, setSearch] = useState('');
  const dispatch = useDispatch();
  const values = useCall('filters', { params: { key: word.id, search, limit: LIST_LIMIT } });
  const toggle = (value: string, on: boolean) =>
    dispatch((state) => (on ? filterIn(state, word.id, value) : removeFilter(state, word.id, value)));
  return (
    <div className="filter-list">
      <input
        type="search"
        value={search}
        placeholder={t('filter.search', { key: title(word.id, word.title) })}
        aria-label={t('filter.search', { key: title(word.id, word.title) })}
        onChange={({ target }) => setSearch(target.value)}
      />
      <Loaded of={values} rows={5}>
        {({ values: entries }) => (
          <>
            {entries.length === 0 && <p className="faint">{t('filter.values-none')}</p>}
            {entries.map(({ value, share }) => (
              <div key={value} className="filter-entry">
                <label>
                  <input
                    type="checkbox"
                    checked={filters.includes(value)}
                    onChange={({ target }) => toggle(value, target.checked)}
                  />
                  <span className="filter-text">{nameText(value, word.id)}</span>
                </label>
                <button
                  type="button"
                  className={excludes.includes(value) ? 'exclude exclude-set' : 'exclude'}
                  aria-label={`${t('filter.out')} ${nameText(value, word.id)}`}
                  aria-pressed={excludes.includes(value)}
                  data-tip={t('filter.out')}
                  onClick={() =>
                    dispatch((state) =>
                      excludes.includes(value) ? removeFilter(state, word.id, value) : filterOut(state, word.id, value),
                    )
                  }
                >
                  ⊘
                </button>
                <span className="number share">{percent(share)}</span>
              </div>
            ))}
            {entries.length === LIST_LIMIT && (
              <p className="faint">{t('filter.more', { count: `>${count(LIST_LIMIT)}` })}</p>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

/** Filters by keys without a list: function, waker, … */
function OtherFilters({ known, words }: { known: string[]; words: ChoiceWord[] }) {
  const others = useView((state) => [
    ...state.filters.filter(({ key }) => !known.includes(key)).map((filter) => ({ ...filter, not: false })),
    ...state.excludes.filter(({ key }) => !known.includes(key)).map((filter) => ({ ...filter, not: true })),
  ]);
  const dispatch = useDispatch();
  return others.map(({ key, value, not }) => {
    const name = title(key, words.find(({ id }) => id === key)?.title ?? key);
    const shown = nameText(value, key);
    return (
      <span key={`${not} ${key} ${value}`} className="filter filter-set">
        <span className="filter-chip">
          <span className="faint">{name}:</span> {not ? `${t('filter.not')} ` : ''}
          <span className="filter-value">{shown}</span>
        </span>
        <button
          type="button"
          className="remove"
          aria-label={t('filter.remove', { key: name, value: shown })}
          onClick={() => dispatch((state) => removeFilter(state, key, value))}
        >
          ×
        </button>
      </span>
    );
  });
}

function TimeFilters() {
  const { range, excludedRanges } = useView(({ range, excludedRanges }) => ({ range, excludedRanges }));
  const dispatch = useDispatch();
  const chip = (text: string, remove: Partial<ViewState>) => (
    <span key={text} className="filter filter-set">
      <span className="filter-chip">{text}</span>
      <button
        type="button"
        className="remove"
        aria-label={t('filter.remove', { key: t('filter.time'), value: text })}
        onClick={() => dispatch(remove)}
      >
        ×
      </button>
    </span>
  );
  return (
    <>
      {range && chip(span(range.from, range.to), { range: null })}
      {excludedRanges.map((part) =>
        chip(`${t('filter.not-time')} ${span(part.from, part.to)}`, {
          excludedRanges: excludedRanges.filter((other) => other !== part),
        }),
      )}
    </>
  );
}

/** How to count stacks and waits; part of the selection, like the filters. */
function Options({ info }: { info: Info | undefined }) {
  const { stackMode, inlines, includeIdle, target } = useView(({ stackMode, inlines, includeIdle, target }) => ({
    stackMode,
    inlines,
    includeIdle,
    target,
  }));
  const dispatch = useDispatch();
  return (
    <Menu label={`${t('app.options')} ▾`} align="right">
      {() => (
        <div className="options">
          <label>
            <span>{t('option.stack-mode')}</span>
            <select
              value={stackMode}
              onChange={({ target: { value } }) =>
                dispatch({
                  stackMode: STACK_MODES.find((mode) => mode === value) ?? 'user+1',
                  selection: [],
                  callees: [],
                })
              }
            >
              {STACK_MODES.map((mode) => (
                <option key={mode} value={mode}>
                  {t(`stack-mode.${mode}`)}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span>{t('option.inlines')}</span>
            <input
              type="checkbox"
              checked={inlines}
              onChange={({ target: { checked } }) => dispatch({ inlines: checked, selection: [], callees: [] })}
            />
          </label>
          <label data-tip={t('option.idle.help')}>
            <span>{t('option.idle')}</span>
            <input
              type="checkbox"
              checked={includeIdle}
              onChange={({ target: { checked } }) => dispatch({ includeIdle: checked })}
            />
          </label>
          <label>
            <span>{t('option.target')}</span>
            <input
              type="number"
              min={1}
              max={4096}
              placeholder={String(info?.target_concurrency ?? '')}
              value={target ?? ''}
              onChange={({ target: { value } }) =>
                dispatch({ target: value === '' ? null : Math.max(1, Number(value)) })
              }
            />
          </label>
        </div>
      )}
    </Menu>
  );
}
