import { styleText } from 'node:util';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';

/** A name and its text, side by side on the terminal. */
export type Row = readonly [name: string, text: string];

/** Formats names and texts in two columns. */
export function formatTable(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${styleText('dim', name.padEnd(width))}  ${text}`);
}

export function formatWarnings(warnings: readonly string[]): string[] {
  return warnings.map((warning) => `  ${styleText('yellow', '!')} ${escapeUnprintableLine(warning)}`);
}
