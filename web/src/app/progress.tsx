// A progress line at the top when work takes long.

import { useEffect, useState } from 'react';
import { busy, onActivity } from '../base/activity';
import { t } from '../base/texts';

export function Progress() {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const update = () => {
      clearTimeout(timer);
      if (busy()) timer = setTimeout(() => setShown(true), 500);
      else setShown(false);
    };
    update();
    const stop = onActivity(update);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  return shown ? <div className="progress" role="progressbar" aria-label={t('app.loading')} /> : null;
}
