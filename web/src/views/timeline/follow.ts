// Questions that follow the view: they repeat while it moves, but not in every frame.

import { useEffect, useRef, useState } from 'react';
import { begin } from '../../base/activity';
import type { Scene } from '../../logic/timeline/scene';

const FOLLOW_MS = 120;

/** The result of `ask` for the current view, updated at most every 120 ms. */
export function useFollowing<Q extends object>(scene: Scene, ask: () => Q): Q {
  const [question, setQuestion] = useState(ask);
  const asked = useRef(question);
  const newest = useRef(ask);
  newest.current = ask;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let end = () => {};
    const stop = scene.onFrame(() => {
      if (timer || same(asked.current, newest.current())) return;
      end = begin();
      timer = setTimeout(() => {
        timer = undefined;
        asked.current = newest.current();
        setQuestion(asked.current);
        end();
      }, FOLLOW_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      end();
    };
  }, [scene]);
  return question;
}

function same(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
