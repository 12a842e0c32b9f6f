/** The display of running work. */
export interface ProgressView<Shown> {
  /** Replaces the previous lines on a terminal. */
  lines(progress: Shown): readonly string[];
  /** Formats the progress for a log. */
  line(progress: Shown): string;
}

/** Shows the progress of a run: in place on a terminal, elsewhere as a line now and then. Always on stderr: stdout is for the result. */
export interface ProgressDisplay<Shown> extends Disposable {
  show(progress: Shown): void;
}

interface Timed {
  readonly seconds: number;
}

/** The pause between two lines without a terminal: a log only has to show that work goes on. */
const LINE_SECONDS = 5;

/** Moves the cursor up by `count` lines and erases everything below. */
const formatEraseLines = (count: number): string => (count === 0 ? '' : `\x1b[${count}A\x1b[J`);
/** Without wrapping, the terminal cuts long lines itself, so each drawn line is one line to erase. */
const [WRAP_OFF, WRAP_ON] = ['\x1b[?7l', '\x1b[?7h'];

/** The part of a stream that the display needs. */
export interface DisplayStream {
  readonly isTTY: boolean;
  /** The number of rows of the terminal. */
  readonly rows: number;
  write(text: string): unknown;
}

export function openProgressDisplay<Shown extends Timed>(view: ProgressView<Shown>, stream: DisplayStream): ProgressDisplay<Shown> {
  return stream.isTTY ? createLiveDisplay(view, stream) : createPlainDisplay(view, stream);
}

/** Shows the lines in place. Disposing it erases them; it may show others afterwards. */
export function createLiveDisplay<Shown>(view: Pick<ProgressView<Shown>, 'lines'>, stream: DisplayStream): ProgressDisplay<Shown> {
  let drawn = 0;
  return {
    show(progress) {
      // Lines that have left the top of the screen cannot be erased.
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
  let shownAt = 0;
  return {
    show(progress) {
      const { seconds } = progress;
      // The seconds begin again when a server continues an evaluation.
      if (seconds >= shownAt && seconds < shownAt + LINE_SECONDS) return;
      shownAt = seconds;
      stream.write(`${view.line(progress)}\n`);
    },
    [Symbol.dispose]: () => undefined,
  };
}
