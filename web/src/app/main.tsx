import { createRoot } from 'react-dom/client';
import { takeToken, thisTab } from '../api/token';
import { preferences } from '../state/preferences';
import { StoreProvider } from '../state/provider';
import { Store, windowBrowser } from '../state/store';
import { App } from './app';
// The order matters: later style sheets override earlier ones.
import './styles/page.css';
import './styles/parts.css';
import './styles/grids.css';
import './styles/summary.css';
import './styles/stacks.css';
import './styles/screens.css';

// Before anything reads the address. In a tab that shows Dwell already, opening the printed address only changes the part
// after `#`; what the page got, or did not get, with the token before is not to stay.
takeToken(thisTab());
window.addEventListener('popstate', () => takeToken(thisTab()) && window.location.reload());

document.documentElement.dataset.idle = 'false';
preferences();
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StoreProvider store={new Store(windowBrowser())}>
      <App />
    </StoreProvider>,
  );
}
