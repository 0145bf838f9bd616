// The token of the printed address, which every call to the server must carry. It comes in the part of the address after `#`,
// which browsers send to nobody, and goes to the server in a header. It is no cookie, which browsers send to every port of a
// machine, and lies in `sessionStorage`, not in `localStorage`: the port may be another user's tomorrow. So a reload keeps it,
// and a new tab does not have it.

/** The parts of the browser that are needed; tests have their own. */
export interface Tab {
  hash(): string;
  /** Shows another part after `#`, in place of this one in the history. */
  replaceHash(hash: string): void;
  kept: Pick<Storage, 'getItem' | 'setItem'>;
}

const KEY = 'dwell-token';
const NAME = 'token';

let token: string | null = null;

/** Takes the token out of the address, or the kept one; whether the address had one. */
export function takeToken(tab: Tab): boolean {
  const query = new URLSearchParams(tab.hash().replace(/^#/, ''));
  const given = query.get(NAME);
  if (given === null) {
    token = quietly(() => tab.kept.getItem(KEY)) ?? null;
    return false;
  }
  token = given;
  quietly(() => tab.kept.setItem(KEY, given));
  query.delete(NAME);
  tab.replaceHash(query.toString());
  return true;
}

/** The header that says it. */
export function authorization(): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token}` };
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
    get kept() {
      return window.sessionStorage;
    },
  };
}
