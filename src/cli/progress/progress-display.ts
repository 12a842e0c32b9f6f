/** The display of running work. */
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

/** Moves to the first of so many lines above the cursor, and erases everything from there on. */
const formatEraseLines = (count: number): string => (count === 0 ? '' : `\x1b[${count}A\x1b[J`);
/** Without wrapping the terminal cuts long lines itself: each line drawn is one line to erase. */
const [WRAP_OFF, WRAP_ON] = ['\x1b[?7l', '\x1b[?7h'];

/** Of a stream: what is needed here. */
export interface DisplayStream {
  readonly isTTY: boolean;
  /** Of a terminal. */
  readonly rows: number;
  write(text: string): unknown;
}

export function openProgressDisplay<Shown extends Timed>(view: ProgressView<Shown>, stream: DisplayStream): ProgressDisplay<Shown> {
  return stream.isTTY ? createLiveDisplay(view, stream) : createPlainDisplay(view, stream);
}

function createLiveDisplay<Shown>(view: ProgressView<Shown>, stream: DisplayStream): ProgressDisplay<Shown> {
  let drawn = 0;
  return {
    show(progress) {
      // What has left the screen at its top cannot be erased.
      const lines = view.lines(progress).slice(0, Math.max(1, stream.rows - 1));
      stream.write(`${formatEraseLines(drawn)}${WRAP_OFF}${lines.map((line) => `${line}\n`).join('')}${WRAP_ON}`);
      drawn = lines.length;
    },
    [Symbol.dispose]() {
      stream.write(formatEraseLines(drawn));
      drawn = 0;
    },
  };
}

function createPlainDisplay<Shown extends Timed>(view: ProgressView<Shown>, stream: DisplayStream): ProgressDisplay<Shown> {
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
