// The token of the printed address, which every call to the server must carry. It comes in the part of the address after `#`,
// which browsers send to nobody, and goes to the server in a header. It is no cookie, which browsers send to every port of a
// machine, and lies in `sessionStorage`, not in `localStorage`: the port may be another user's tomorrow. So a reload keeps it,
// and a new tab does not have it.
//
// A token that lasts, the same for the user's next server on the port, stays in the address, so that a bookmark has it. Links that
// the page copies are for others, and have none.

/** The parts of the browser that are needed; tests have their own. */
export interface Tab {
  hash(): string;
  /** Shows another part after `#`, in place of this one in the history. */
  replaceHash(hash: string): void;
  /** Whether the address is a step that the page made, not one that somebody opened. */
  isStep(): boolean;
  kept: Pick<Storage, 'getItem' | 'setItem'>;
}

const KEY = 'dwell-token';
const ONCE = 'token';
const LASTING = 'lasting-token';

interface Token {
  secret: string;
  lasts: boolean;
}

let token: Token | null = null;

/** Takes the token out of the address, or the kept one; whether somebody opened an address that has one. */
export function takeToken(tab: Tab): boolean {
  const query = new URLSearchParams(tab.hash().replace(/^#/, ''));
  const given = tokenOf(query);
  if (given === null) {
    token = tokenOf(new URLSearchParams(quietly(() => tab.kept.getItem(KEY)) ?? ''));
    if (token?.lasts) tab.replaceHash(withToken(tab.hash().replace(/^#/, '')));
    return false;
  }
  token = given;
  quietly(() => tab.kept.setItem(KEY, written(given)));
  query.delete(ONCE);
  query.delete(LASTING);
  if (!(given.lasts && tab.isStep())) tab.replaceHash(withToken(query.toString()));
  return !tab.isStep();
}

function tokenOf(query: URLSearchParams): Token | null {
  const lasting = query.get(LASTING);
  const secret = lasting ?? query.get(ONCE);
  return secret === null ? null : { secret, lasts: lasting !== null };
}

function written({ secret, lasts }: Token): string {
  return new URLSearchParams({ [lasts ? LASTING : ONCE]: secret }).toString();
}

/** The part after `#` as the address shows it: with a token that lasts. */
export function withToken(hash: string): string {
  const parts = [hash, token?.lasts ? written(token) : ''];
  return parts.filter((part) => part !== '').join('&');
}

/** An address without the token, for others. */
export function withoutToken(address: string): string {
  const [page = '', hash = ''] = address.split('#');
  const parts = hash.split('&').filter((part) => !part.startsWith(`${LASTING}=`));
  return `${page}#${parts.join('&')}`;
}

/** The header that says it. */
export function authorization(): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token.secret}` };
}

/** Storage that the browser's owner has switched off throws; the token then lasts until a reload. */
function quietly<T>(access: () => T): T | undefined {
  try {
    return access();
  } catch {
    return undefined;
  }
}

export function thisTab(): Tab {
  return {
    hash: () => window.location.hash,
    replaceHash: (hash) => history.replaceState(history.state, '', `${window.location.pathname}#${hash}`),
    isStep: () => typeof history.state?.dwell === 'number',
    get kept() {
      return window.sessionStorage;
    },
  };
}
