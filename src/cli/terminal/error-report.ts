import { getMessage, MusterError } from '../../kernel/errors.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';

/** The text on stderr for an error: a defect with its stack, for the developer. */
export function formatErrorReport(error: unknown): string {
  if (error instanceof MusterError) return formatNotice(error.message);
  return formatNotice(`a defect of Muster: ${error instanceof Error ? (error.stack ?? error.message) : getMessage(error)}`);
}

/** A message of Muster's, its further lines indented so that each is seen to belong to it. */
export function formatNotice(message: string): string {
  return `muster: ${escapeUnprintable(message.trimEnd()).replaceAll('\n', '\n  ')}\n`;
}
