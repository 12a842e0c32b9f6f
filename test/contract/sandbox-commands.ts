/** The small vocabulary of programs in which the contract speaks. Each adapter's test translates it into commands of its own. */
export interface SandboxCommands {
  /** Ends with this code. */
  exit(code: number): readonly string[];
  /** Ends by this signal. */
  dieBy(signal: number): readonly string[];
  /** Copies stdin to stdout until stdin ends, then prints `bye` and a line break. */
  echo(): readonly string[];
  /** Prints `y` and a line break until that many bytes are printed. */
  emit(bytes: number): readonly string[];
  /** The same in chunks of 16 KiB; after each, prints the number of chunks so far on a line of stderr. */
  emitCounting(chunks: number): readonly string[];
  /** Prints `ready`, then does nothing for ever. */
  idle(marker: string): readonly string[];
  /** For every path on a line of stdin, prints the file's sha256 in hexadecimal, or `unreadable`. */
  hashFiles(): readonly string[];
  /** As `idle`, with a descendant that has left the session and the parent, and does nothing for ever too. Both carry the marker. */
  family(marker: string): readonly string[];
  /** Runs this Python program. Adapters without an operating system inside throw. */
  python(source: string): readonly string[];
}

const IDLE = 'echo ready; while :; do sleep 1000; done';

const EMIT_COUNTING = `
import sys
for i in range(int(sys.argv[1])):
    sys.stdout.buffer.write(b'y' * 16384)
    sys.stdout.flush()
    print(i + 1, file=sys.stderr, flush=True)
`;

const shell = (script: string, ...argv: readonly string[]): readonly string[] => ['sh', '-c', script, ...argv];

/** For every adapter whose sandboxes have a POSIX shell and Python 3. */
export function shellCommands(python: string): SandboxCommands {
  return {
    exit: (code) => shell(`exit ${code}`),
    dieBy: (signal) => shell(`kill -${signal} $$`),
    echo: () => shell('cat; echo bye'),
    emit: (bytes) => shell(`yes | head -c ${bytes}`),
    // In one process: a shell starts two for each chunk, which takes some systems the better part of a minute.
    emitCounting: (chunks) => [python, '-I', '-c', EMIT_COUNTING, String(chunks)],
    idle: (marker) => shell(IDLE, marker),
    hashFiles: () => shell('while read -r p; do if h=$(sha256sum "$p" 2>/dev/null); then echo "${h%% *}"; else echo unreadable; fi; done'),
    family: (marker) => shell(`(setsid sh -c 'while :; do sleep 1000; done' ${marker} >/dev/null 2>&1 </dev/null &); ${IDLE}`, marker),
    python: (source) => [python, '-I', '-c', source],
  };
}
