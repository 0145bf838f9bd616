// What leads out of the page: a link to the view, and files of what it shows for other tools.

import { useState } from 'react';
import { type ApiError, fetchFile } from '../api/client';
import { withoutToken } from '../api/token';
import { type TextKey, t } from '../base/texts';
import { useView } from '../state/provider';
import { type Params, withParams } from '../state/query';
import { asApiError, callUrl } from '../state/resource';
import { TABS, tabsBeside } from '../state/view-state';
import { Menu } from '../views/parts/menu';

interface FileChoice {
  text: TextKey;
  call: string;
  params?: Params;
  /** How the file's name ends. */
  ending: string;
}

/** The formats of `dwell export` that the server makes, and the result itself. */
const FILES: FileChoice[] = [
  { text: 'share.firefox', call: 'export/firefox', ending: 'profile.json.gz' },
  { text: 'share.perfetto', call: 'export/perfetto', ending: 'pftrace' },
  { text: 'share.pprof', call: 'export/pprof', ending: 'pb.gz' },
  { text: 'share.otlp', call: 'export/otlp', ending: 'otlp.pb' },
  { text: 'share.speedscope', call: 'export/speedscope', ending: 'speedscope.json' },
  { text: 'share.folded-cpu', call: 'export/folded', params: { weight: 'cpu' }, ending: 'cpu.folded' },
  { text: 'share.folded-wait', call: 'export/folded', params: { weight: 'wait' }, ending: 'wait.folded' },
  { text: 'share.pack', call: 'pack', ending: 'dwell' },
];

/** The menu: entries are reached by arrows, Escape closes it. `hasFiles`: whether a result is open that can be read. */
export function ShareMenu({ hasFiles }: { hasFiles: boolean }) {
  const [copied, setCopied] = useState(false);
  const [made, setMade] = useState<TextKey | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const isOfResult = useView((state) => tabsBeside(state.tab) === TABS) && hasFiles;
  const copy = () =>
    navigator.clipboard?.writeText(withoutToken(window.location.href)).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  return (
    <Menu label={copied ? t('app.copied') : `${t('share.menu')} ▾`} align="right" className="share-menu">
      {(close) => (
        <>
          <button
            type="button"
            className="menu-entry"
            onClick={() => {
              copy();
              close();
            }}
          >
            {t('app.copy-link')}
          </button>
          {isOfResult &&
            FILES.map((file) => (
              <FileEntry key={file.text} file={file} made={made} begin={setMade} end={setProblem} close={close} />
            ))}
          {problem && (
            <p className="share-problem" role="alert">
              {[problem.text, problem.advice].filter(Boolean).join('. ')}
            </p>
          )}
        </>
      )}
    </Menu>
  );
}

interface EntryProps {
  file: FileChoice;
  /** The file that is being made: one at a time. */
  made: TextKey | null;
  begin: (text: TextKey | null) => void;
  end: (problem: ApiError | null) => void;
  close: () => void;
}

function FileEntry({ file, made, begin, end, close }: EntryProps) {
  const result = useView((state) => state.result);
  const url = useView((state) => {
    const [path = '', query = ''] = callUrl(state, file.call, {}).split('?');
    const words = withParams(new URLSearchParams(query), file.params ?? {}).toString();
    return words ? `${path}?${words}` : path;
  });
  const save = async () => {
    begin(file.text);
    end(null);
    try {
      saveAs(await fetchFile(url), `${result}.${file.ending}`);
      close();
    } catch (error) {
      end(asApiError(error));
    } finally {
      begin(null);
    }
  };
  return (
    <button type="button" className="menu-entry" aria-disabled={made !== null} onClick={() => made ?? save()}>
      {made === file.text ? t('share.making') : t(file.text)}
    </button>
  );
}

/** Has the browser save a file. */
function saveAs(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The download has begun by then, and has the content.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
