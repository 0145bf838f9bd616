import { createRoot } from 'react-dom/client';
import { preferences } from '../state/preferences';
import { StoreProvider } from '../state/provider';
import { Store, windowBrowser } from '../state/store';
import { App } from './app';
import './theme.css';

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
