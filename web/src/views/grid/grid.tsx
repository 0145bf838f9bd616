// A table of any length. It renders only the visible rows, all of one height; columns can be sorted and resized; the keyboard
// moves through the rows. It does not know where its rows come from.

import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  type UIEvent,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { MenuGroup } from '../../logic/context';
import { ROW_HEIGHT, scrollTo, visibleRows } from '../../logic/window';
import { preferences, setPreferences, usePreferences } from '../../state/preferences';
import { openContextMenu, placeOf } from '../parts/context-menu';

export interface GridColumn {
  id: string;
  title: string;
  help?: string | undefined;
  numeric: boolean;
  /** Default width in px; the first column may be wider if space is left. */
  width: number;
  /** Least width in px for lack of space: cutting a text is better than hiding another column. */
  least?: number;
  /** Takes the remaining space. */
  grow?: boolean;
  /** Takes the remaining space up to this width, px: beyond it, numbers would be too far from their names. */
  most?: number;
  sortable?: boolean;
}

export interface GridRow {
  key: string;
  depth: number;
  /** null: without children. */
  expanded: boolean | null;
  cells: ReactNode[];
}

interface Props {
  /** The key of the stored widths; the accessible name is `label`. */
  name: string;
  label: string;
  columns: GridColumn[];
  rows: number;
  /** Builds the row at an index; called only for visible rows. */
  row: (index: number) => GridRow;
  selected: number;
  onSelect: (index: number) => void;
  onToggle?: (index: number, open: boolean) => void;
  /** Called on Enter or a double click. */
  onOpen?: (index: number) => void;
  onKey?: (event: KeyboardEvent, index: number) => boolean;
  /** What a right click on a row offers, or the menu key on the selected one. */
  menu?: (index: number) => MenuGroup[];
  sort?: { metric: string; descending: boolean } | null;
  onSort?: (column: string) => void;
  /** Called with the visible rows, so that the owner can fetch their data. */
  onVisible?: (first: number, last: number) => void;
}

/** The full width of a heading, px; Chinese characters count twice. */
export function titleWidth(title: string): number {
  return [...title].reduce((sum, letter) => sum + (letter > '\u2e7f' ? 12.5 : 7), 24);
}

const LEAST_WIDTH = 48;
/** By how much a key makes a column wider, px. */
const STEP = 16;
/** Width of the names of rows if space is left, px. */
export const NAME_WIDTH = 560;

export function Grid(props: Props) {
  const { name, columns, rows, selected, onVisible } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const id = useId();
  const { template, least } = useTemplate(name, columns);
  const { first, last } = visibleRows(view.top, view.height, rows);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setView((old) => ({ ...old, height: element.clientHeight })));
    observer.observe(element);
    setView({ top: element.scrollTop, height: element.clientHeight });
    return () => observer.disconnect();
  }, []);
  useEffect(() => onVisible?.(first, last), [onVisible, first, last]);
  useEffect(() => {
    const element = box.current;
    if (element && selected >= 0) element.scrollTop = scrollTo(selected, element.scrollTop, element.clientHeight);
  }, [selected]);
  const scrolled = (event: UIEvent<HTMLDivElement>) => {
    const top = event.currentTarget.scrollTop;
    setView((old) => (Math.floor(old.top / ROW_HEIGHT) === Math.floor(top / ROW_HEIGHT) ? old : { ...old, top }));
  };
  return (
    <div
      ref={box}
      className="grid"
      role="treegrid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={rows + 1}
      aria-colcount={columns.length}
      aria-activedescendant={selected >= first && selected < last ? `${id}-${selected}` : undefined}
      onScroll={scrolled}
      onKeyDown={(event) => gridKey(event, props, view.height)}
      onContextMenu={(event) => rowMenu(event, props)}
    >
      <Head {...props} template={template} least={least} />
      <div className="grid-body" role="rowgroup" style={{ height: rows * ROW_HEIGHT, minWidth: least }}>
        {range(first, last).map((index) => (
          <Row key={index} id={`${id}-${index}`} index={index} template={template} {...props} />
        ))}
      </div>
    </div>
  );
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first }, (_, at) => first + at);
}

/** The columns' widths as CSS, with the reader's own in place of the given ones; and the least width of all together. */
function useTemplate(name: string, columns: GridColumn[]): { template: string; least: number } {
  const { sizes } = usePreferences();
  const widths = columns.map(({ id, width, least = width, grow, most = NAME_WIDTH }, at) => {
    const own = sizes[`${name}.${id}`];
    if (own !== undefined) return `${own}px`;
    if (grow) return `minmax(${least}px, 1fr)`;
    return `minmax(${least}px, ${at === 0 ? Math.max(width, most) : width}px)`;
  });
  const least = columns.reduce((sum, { id, width, least = width }) => sum + (sizes[`${name}.${id}`] ?? least), 0);
  return { template: widths.join(' '), least };
}

function Head({ name, columns, sort, onSort, template, least }: Props & { template: string; least: number }) {
  const resize = (id: string, width: number) =>
    setPreferences({ sizes: { ...preferences().sizes, [`${name}.${id}`]: Math.max(LEAST_WIDTH, Math.round(width)) } });
  const drag = (event: PointerEvent<HTMLElement>, id: string) => {
    const cell = event.currentTarget.parentElement;
    if (event.buttons === 1 && cell) resize(id, event.clientX - cell.getBoundingClientRect().left);
  };
  const reset = (id: string) => {
    const { [`${name}.${id}`]: _, ...sizes } = preferences().sizes;
    setPreferences({ sizes });
  };
  const key = (event: KeyboardEvent<HTMLElement>, id: string) => {
    const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (!event.shiftKey || (!step && event.key !== 'Backspace')) return;
    if (step) resize(id, event.currentTarget.getBoundingClientRect().width + step);
    else reset(id);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="grid-head" role="rowgroup" style={{ minWidth: least }}>
      <div className="grid-row" role="row" style={{ gridTemplateColumns: template }}>
        {columns.map(({ id, title, help, numeric, sortable }) => {
          const order = sortOrder(sort, id);
          return (
            <div
              key={id}
              role="columnheader"
              className={numeric ? 'grid-cell numeric' : 'grid-cell'}
              aria-sort={sortable ? order : undefined}
              data-tip={help}
              // A heading without a button takes the focus itself.
              tabIndex={sortable && onSort ? undefined : 0}
              onKeyDown={(event) => key(event, id)}
            >
              {sortable && onSort ? (
                <button type="button" className="grid-sort" onClick={() => onSort(id)}>
                  {title}
                  {order !== 'none' && <span aria-hidden="true">{order === 'descending' ? ' ▾' : ' ▴'}</span>}
                </button>
              ) : (
                title
              )}
              <span
                className="grid-resize"
                aria-hidden="true"
                onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
                onPointerMove={(event) => drag(event, id)}
                onDoubleClick={() => reset(id)}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function sortOrder(sort: Props['sort'], id: string): 'ascending' | 'descending' | 'none' {
  if (sort?.metric !== id) return 'none';
  return sort.descending ? 'descending' : 'ascending';
}

function Row({
  id,
  index,
  template,
  columns,
  row,
  selected,
  onSelect,
  onToggle,
  onOpen,
}: Props & { id: string; index: number; template: string }) {
  const { depth, expanded, cells } = row(index);
  const toggle = (event: MouseEvent) => {
    event.stopPropagation();
    onToggle?.(index, !expanded);
  };
  return (
    <div
      id={id}
      role="row"
      className={index === selected ? 'grid-row grid-data selected' : 'grid-row grid-data'}
      style={{ gridTemplateColumns: template, top: index * ROW_HEIGHT }}
      aria-rowindex={index + 2}
      aria-level={depth + 1}
      aria-selected={index === selected}
      aria-expanded={expanded ?? undefined}
      onClick={() => onSelect(index)}
      onDoubleClick={() => onOpen?.(index)}
    >
      {cells.map((cell, at) => (
        <div
          key={columns[at]?.id ?? at}
          role="gridcell"
          className={columns[at]?.numeric ? 'grid-cell numeric' : 'grid-cell'}
          style={at === 0 ? { paddingLeft: 6 + depth * 14 } : undefined}
        >
          {at === 0 && (
            <span className="twisty" aria-hidden="true" onClick={expanded === null ? undefined : toggle}>
              {expanded === null ? '' : expanded ? '▾' : '▸'}
            </span>
          )}
          {cell}
        </div>
      ))}
    </div>
  );
}

/** Opens the menu of the row under the pointer, which becomes the selected one; for the keyboard, of that one. */
function rowMenu(event: MouseEvent<HTMLElement>, { selected, menu, onSelect }: Props): void {
  const target = event.target as HTMLElement;
  const pointed = target.closest<HTMLElement>('.grid-data');
  const row = pointed ?? event.currentTarget.querySelector<HTMLElement>('.grid-data.selected');
  // A heading has no menu of its own.
  if (!menu || !row || (!pointed && target !== event.currentTarget)) return;
  const index = pointed ? Number(pointed.getAttribute('aria-rowindex')) - 2 : selected;
  if (index !== selected) onSelect(index);
  openContextMenu(event, placeOf(event, row), menu(index));
}

/** Keys of a list with the focus. It passes other keys on to the page. */
function gridKey(event: KeyboardEvent, props: Props, height: number): void {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
  const { rows, selected, onSelect } = props;
  const to = (index: number) => rows > 0 && onSelect(Math.max(0, Math.min(rows - 1, index)));
  const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 2);
  const moves: Record<string, () => unknown> = {
    ArrowDown: () => to(selected + 1),
    ArrowUp: () => to(selected - 1),
    PageDown: () => to(selected + page),
    PageUp: () => to(selected - page),
    Home: () => to(0),
    End: () => to(rows - 1),
    ArrowRight: () => expandKey(props, true),
    ArrowLeft: () => expandKey(props, false),
    Enter: () => selected >= 0 && props.onOpen?.(selected),
  };
  const move = moves[event.key];
  if (move) move();
  else if (!(selected >= 0 && props.onKey?.(event, selected))) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Right opens a row or goes to its first child; left closes it or goes to its parent. */
function expandKey({ rows, row, selected, onSelect, onToggle }: Props, open: boolean): void {
  if (selected < 0 || selected >= rows) return;
  const { depth, expanded } = row(selected);
  if (expanded === !open) onToggle?.(selected, open);
  else if (open) {
    if (expanded) onSelect(selected + 1);
  } else {
    let above = selected - 1;
    while (above >= 0 && row(above).depth >= depth) above -= 1;
    if (above >= 0) onSelect(above);
  }
}
