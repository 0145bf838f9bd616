// Platform: the timeline in full.

import TimelinePane from './timeline/pane';

export default function PlatformView() {
  return <TimelinePane mode="full" />;
}
