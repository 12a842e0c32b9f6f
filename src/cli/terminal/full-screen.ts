/** The part of a terminal's streams that is needed. */
export interface ScreenStreams {
  readonly stdin: {
    readonly isTTY: boolean;
    setRawMode(isRaw: boolean): unknown;
    resume(): unknown;
    pause(): unknown;
    on(event: 'data', listener: (data: Buffer) => void): unknown;
    off(event: 'data', listener: (data: Buffer) => void): unknown;
  };
  readonly stdout: {
    readonly rows: number;
    write(text: string): unknown;
    on(event: 'resize', listener: () => void): unknown;
    off(event: 'resize', listener: () => void): unknown;
  };
}

export interface FullScreen extends Disposable {
  /** Replaces everything on the screen. */
  show(lines: readonly string[]): void;
}

export interface ScreenListeners {
  readonly onResize: () => void;
  /** Called on `q`, Escape, Ctrl-C or Ctrl-D. */
  readonly onQuit: () => void;
}

/** The terminal's alternate screen, without a cursor and without wrapping; leaving it restores the previous content. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const [HOME, ERASE_TO_LINE_END, ERASE_BELOW] = ['\x1b[H', '\x1b[K', '\x1b[J'];
const QUIT_KEYS: ReadonlySet<string> = new Set(['q', 'Q', '\x1b', '\x03', '\x04']);

/** Uses the whole terminal until it is disposed. Reads keys where stdin is a terminal, too. */
export function openFullScreen({ stdin, stdout }: ScreenStreams, { onResize, onQuit }: ScreenListeners): FullScreen {
  const onData = (data: Buffer): void => {
    if (QUIT_KEYS.has(data.toString('latin1'))) onQuit();
  };
  stdout.write(ENTER);
  stdout.on('resize', onResize);
  if (stdin.isTTY) {
    stdin.setRawMode(true);
    stdin.on('data', onData);
    stdin.resume();
  }
  return {
    show(lines) {
      const shown = lines.slice(0, Math.max(1, stdout.rows));
      // Erases before writing a line: after a line as wide as the terminal, its last character would be erased.
      stdout.write(HOME + shown.map((line, at) => `${at === shown.length - 1 ? ERASE_BELOW : ERASE_TO_LINE_END}${line}`).join('\r\n'));
    },
    [Symbol.dispose]() {
      stdout.off('resize', onResize);
      if (stdin.isTTY) {
        stdin.off('data', onData);
        stdin.setRawMode(false);
        stdin.pause();
      }
      stdout.write(LEAVE);
    },
  };
}
