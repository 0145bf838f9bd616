// The drawing of a cause's chains. Each box leads on: the waiting threads to the timeline, the object to Blame, the place to
// Source.

import { nameText, shortText } from '../../base/names';
import { t, title } from '../../base/texts';
import { duration } from '../../base/units';
import { type RootCause, showObject, showPlace, showThreads } from '../../logic/causes';
import { BOX, type ChainLink, type ChainNode, chainTree, draw } from '../../logic/chains';
import { useDispatch } from '../../state/provider';
import type { ViewState } from '../../state/view-state';

export function ChainDrawing({ cause, links }: { cause: RootCause; links: ChainLink[] }) {
  const { width, height, boxes, arrows } = draw(chainTree(links));
  return (
    <div className="chains">
      <div className="chains-area" style={{ width, height }}>
        <svg width={width} height={height} aria-hidden="true">
          {arrows.map(({ path, width: stroke }) => (
            <path key={path} d={path} strokeWidth={stroke} />
          ))}
        </svg>
        {boxes.map((box) => (
          <div
            key={`${box.x} ${box.y}`}
            className={box.node ? 'chain-box' : 'chain-box chain-cause'}
            style={{ left: box.x, top: box.y, width: BOX.width, height: BOX.height }}
          >
            {box.node ? <Wait node={box.node} /> : <Cause cause={cause} />}
          </div>
        ))}
      </div>
    </div>
  );
}

function Wait({ node: { link, ns } }: { node: ChainNode }) {
  const { object, place, waited_for: label } = link;
  return (
    <>
      <Line text={link.who} tip={t('explain.show-threads')} show={(state) => showThreads(state, link)}>
        <small className="number">{duration(ns)}</small>
      </Line>
      <Line
        text={t('explain.waited-for', { object: nameText(label ?? '', 'object') })}
        tip={t('explain.show-blame')}
        show={object ? (state) => showObject(state, object) : null}
      />
      <PlaceLine place={place} />
    </>
  );
}

function Cause({ cause: { who, kind, place, wait_ns: waits, path_ns: path } }: { cause: RootCause }) {
  return (
    <>
      <Line text={who} tip="" show={null}>
        <small className="number">{duration(waits || (path ?? 0))}</small>
      </Line>
      <Line text={title(kind, kind)} tip="" show={null} />
      <PlaceLine place={place} />
    </>
  );
}

function PlaceLine({ place }: { place: string | null }) {
  if (!place) return null;
  return <Line text={place} tip={t('tab.source')} show={(state) => showPlace(state, place)} />;
}

interface LineProps {
  text: string;
  /** What a click does. */
  tip: string;
  show: ((state: ViewState) => ViewState) | null;
  children?: React.ReactNode;
}

/** A line of a box: a link where it leads on, with the whole text as its tip. */
function Line({ text, tip, show, children }: LineProps) {
  const dispatch = useDispatch();
  const short = shortText(text);
  return (
    <div className="chain-line">
      {show ? (
        <button type="button" className="link" data-tip={`${text} (${tip})`} onClick={() => dispatch(show)}>
          {short}
        </button>
      ) : (
        <span className="cell-text" data-tip={text}>
          {short}
        </span>
      )}
      {children}
    </div>
  );
}
