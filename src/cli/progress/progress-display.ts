import { createLogUpdate } from 'log-update';

/** What is shown of something that is under way. */
export interface ProgressView<Shown> {
  /** For a terminal, in place of those before. */
  lines(progress: Shown): readonly string[];
  /** For a log. */
  line(progress: Shown): string;
}

/** Shows how a run goes: in place on a terminal, as a line now and then elsewhere. Always on stderr: stdout is for the result. */
export interface ProgressDisplay<Shown> extends Disposable {
  show(progress: Shown): void;
}

interface Timed {
  readonly seconds: number;
}

/** Between two lines where there is no terminal: a log wants signs of life, not a film. */
const LINE_SECONDS = 5;

export function openProgressDisplay<Shown extends Timed>(view: ProgressView<Shown>, stream: NodeJS.WriteStream): ProgressDisplay<Shown> {
  return stream.isTTY ? liveDisplay(view, stream) : plainDisplay(view, stream);
}

function liveDisplay<Shown>(view: ProgressView<Shown>, stream: NodeJS.WriteStream): ProgressDisplay<Shown> {
  const update = createLogUpdate(stream);
  return {
    show: (progress) => update(view.lines(progress).join('\n')),
    [Symbol.dispose]: () => update.clear(),
  };
}

function plainDisplay<Shown extends Timed>(view: ProgressView<Shown>, stream: NodeJS.WriteStream): ProgressDisplay<Shown> {
  let nextAt = LINE_SECONDS;
  return {
    show(progress) {
      if (progress.seconds < nextAt) return;
      nextAt = progress.seconds + LINE_SECONDS;
      stream.write(`${view.line(progress)}\n`);
    },
    [Symbol.dispose]: () => undefined,
  };
}
