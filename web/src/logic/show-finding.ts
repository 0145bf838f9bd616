// Where "show me" of a finding leads: the view that has its evidence, filtered to its subject.

import { filterIn } from '../state/actions';
import type { ViewState } from '../state/view-state';

interface Finding {
  id: string;
  subject: string | null;
  location: string | null;
}

/** Findings about an object are seen as its waits, those about code from where it is called, the others in time. */
export function showFinding(state: ViewState, { id, subject }: Finding): ViewState {
  switch (id) {
    case 'lock-convoy':
    case 'lock-held-across-wait':
    case 'gil-contention':
      return subject ? { ...state, tab: 'blame', object: subject } : { ...state, tab: 'objects' };
    case 'barrier-imbalance':
    case 'fine-grained-waits':
    case 'thundering-herd':
      return subject ? { ...state, tab: 'objects', object: subject } : { ...state, tab: 'objects' };
    case 'sleep-polling':
      return filterIn({ ...state, tab: 'objects' }, 'object-type', 'sleep');
    case 'thread-churn': {
      const name = subject?.replace(/^threads named /, '');
      return name ? filterIn({ ...state, tab: 'platform' }, 'thread', name) : { ...state, tab: 'platform' };
    }
    case 'spinning':
      return { ...state, tab: 'caller-callee', function: subject ?? '' };
    case 'single-threaded-phase':
      return filterIn({ ...state, tab: 'platform' }, 'utilization', 'poor');
    default:
      return { ...state, tab: 'platform' };
  }
}
