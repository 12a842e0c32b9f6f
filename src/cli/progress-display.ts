import { createLogUpdate } from 'log-update';
import type { Progress } from '../orchestrator/progress.ts';
import { progressLine, progressLines, type ProgressTitle } from './progress-lines.ts';

/** Shows how an evaluation goes: in place on a terminal, as a line now and then elsewhere. Always on stderr: stdout is for the result. */
export interface ProgressDisplay extends Disposable {
  show(progress: Progress): void;
}

/** Between two lines where there is no terminal: a log wants signs of life, not a film. */
const LINE_SECONDS = 5;

export function openProgressDisplay(title: ProgressTitle, stream: NodeJS.WriteStream): ProgressDisplay {
  return stream.isTTY ? liveDisplay(title, stream) : plainDisplay(title, stream);
}

function liveDisplay(title: ProgressTitle, stream: NodeJS.WriteStream): ProgressDisplay {
  const update = createLogUpdate(stream);
  return {
    show: (progress) => update(progressLines(title, progress).join('\n')),
    [Symbol.dispose]: () => update.clear(),
  };
}

function plainDisplay(title: ProgressTitle, stream: NodeJS.WriteStream): ProgressDisplay {
  let nextAt = LINE_SECONDS;
  return {
    show(progress) {
      if (progress.seconds < nextAt) return;
      nextAt = progress.seconds + LINE_SECONDS;
      stream.write(`${progressLine(title, progress)}\n`);
    },
    [Symbol.dispose]: () => undefined,
  };
}
