import { escapeUnprintable } from '../../kernel/text/printable.ts';
import type { PrintedOutput } from '../workspace/command.ts';
import { SHOWN_CHARACTERS, type Excerpt } from './observation.ts';

const LONE_SURROGATE = /[\ud800-\udfff]/gu;

/** Formats a command's output, with the middle left out where it is long. */
export function formatExcerpt({ head, tail, total }: PrintedOutput): Excerpt {
  if (total <= head.length + tail.length)
    return { text: escapeText(Buffer.concat([head, tail]).toString('utf8')), bytes: total, omitted: 0 };
  const first = head.subarray(0, findWholeEnd(head));
  const last = tail.subarray(findWholeStart(tail));
  const omitted = total - first.length - last.length;
  return {
    text: `${escapeText(first.toString('utf8'))}\n[… ${omitted} bytes left out …]\n${escapeText(last.toString('utf8'))}`,
    bytes: total,
    omitted,
  };
}

/** Leaves out the middle of a file's text where it is long. */
export function shortenText(text: string): { readonly content: string; readonly omitted: number } {
  if (text.length <= SHOWN_CHARACTERS) return { content: text, omitted: 0 };
  const half = SHOWN_CHARACTERS / 2;
  const omitted = text.length - 2 * half;
  const [first, last] = [text.slice(0, half).toWellFormed(), text.slice(-half).toWellFormed()];
  return { content: `${first}\n[… ${omitted} characters left out …]\n${last}`, omitted };
}

/** Lines and tabs are kept, other control characters are escaped. A byte of a name that is no UTF-8 is a lone surrogate here. */
export function escapeText(text: string): string {
  const whole = text.replaceAll(LONE_SURROGATE, (lone) => `\\x${(lone.charCodeAt(0) & 0xff).toString(16).padStart(2, '0')}`);
  return whole.split('\t').map(escapeUnprintable).join('\t');
}

/** One line, also for a name with line breaks. */
export function escapeName(name: string): string {
  return escapeText(name).replaceAll('\n', String.raw`\n`);
}

/** Drops the first bytes of a character whose last ones are left out. */
function findWholeEnd(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Drops the last bytes of a character whose first ones are left out. */
function findWholeStart(bytes: Buffer): number {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}
