import { formatNotice } from './error-report.ts';
import { EXIT_CODES } from './exit-code.ts';
import { print } from './output.ts';

/**
 * Ctrl-C and `kill` end the work cleanly: the first signal aborts, so that a partial result can be given; the second ends the process at
 * once (sandboxes die with it). A closed stdout ends the work as well, as the result could not be delivered.
 */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** The reason of an interruption whose message was already printed. */
export class Interrupted extends DOMException {
  constructor(by: string) {
    super(by, 'AbortError');
  }
}

interface Streams {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
}

type Ending = 'SIGINT' | 'SIGTERM' | 'SIGHUP';
const SIGNALS: readonly Ending[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function onEarly(name: NodeJS.Signals): void {
  process.stderr.write(`\nmuster: ${name}: interrupted before anything was played\n`);
  process.exit(EXIT_CODES.interrupted);
}

/** Until a command watches interruptions itself, Ctrl-C ends the process at once, and says so. */
export function watchEarlyInterruption(): void {
  process.on('SIGINT', onEarly);
}

/** @param meaning what the first signal does, for the person who sent it. @param signals that end the work. */
export function watchInterruption(
  { stdout, stderr }: Streams,
  meaning = 'finishing with what there is (again to quit at once)',
  signals = SIGNALS,
): Interruption {
  const controller = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(EXIT_CODES.interrupted);
    stderr.write(`\nmuster: ${name}: ${meaning}\n`);
    controller.abort(new Interrupted(`interrupted by ${name}`));
  };
  const onUnread = (): void => controller.abort(new Interrupted('stdout was closed'));
  for (const name of signals) process.on(name, onSignal);
  // In the other order, a signal that has come already would be lost.
  process.off('SIGINT', onEarly);
  stdout.on('error', onUnread);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const name of signals) process.off(name, onSignal);
      stdout.off('error', onUnread);
    },
  };
}

/** Runs work that has no partial result. @param notice printed when it was interrupted. @returns the exit code. */
export async function runInterruptibly(notice: string, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  using interrupt = watchInterruption(process);
  try {
    return await work(interrupt.signal);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    await print(process.stderr, formatNotice(notice));
    return EXIT_CODES.interrupted;
  }
}
