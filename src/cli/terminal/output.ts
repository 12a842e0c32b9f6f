import { getMessage } from '../../kernel/errors.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';
import { formatNotice } from './error-report.ts';
import { EXIT_CODES } from './exit-code.ts';
import { hasErrno } from '../../kernel/errno.ts';

/** Writes text to a stream. Resolves when it has been written, or when writing failed and the stream's error listeners have been called. */
export function print(stream: NodeJS.WritableStream, text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // A stream calls back before it emits the error.
  stream.write(text, () => setImmediate(resolve));
  return promise;
}

/**
 * Prevents a closed pipe from counting as a defect. Without stderr the work continues, as the result is on stdout. A stdout that cannot be
 * written decides the exit code, whatever the result.
 */
export function endOnClosedOutput(process: NodeJS.Process): void {
  process.stderr.on('error', () => undefined);
  process.stdout.once('error', (error: unknown) => {
    const isUnread = hasErrno(error, 'EPIPE');
    if (!isUnread) process.stderr.write(formatNotice(`stdout could not be written: ${getMessage(error)}`));
    process.once('exit', () => (process.exitCode = isUnread ? EXIT_CODES.interrupted : EXIT_CODES.infrastructure));
    process.stdout.on('error', () => undefined);
  });
}

export function formatJson(document: unknown): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** Prints what is under way, for a person who watches. */
export function announce(what: string): void {
  if (process.stderr.isTTY) void print(process.stderr, `${escapeUnprintable(what)}\n`);
}
