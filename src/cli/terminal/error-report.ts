import { getMessage, MusterError } from '../../kernel/errors.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';

/** Formats the text on stderr for an error. A defect of Muster is shown with its stack, for the developer. */
export function formatErrorReport(error: unknown): string {
  if (error instanceof MusterError) return formatNotice(error.message);
  return formatNotice(`a defect of Muster: ${error instanceof Error ? (error.stack ?? error.message) : getMessage(error)}`);
}

/** Formats a message of Muster, with its further lines indented so that they visibly belong to it. */
export function formatNotice(message: string): string {
  return `muster: ${escapeUnprintable(message.trimEnd()).replaceAll('\n', '\n  ')}\n`;
}
