import { EVIDENCE_TEXT, type Ending } from '../verification/evidence.ts';
import type { CommandEnd, CommandResult, OutputBounds, PrintedOutput } from '../workspace/command.ts';
import { nameSignal } from '../../kernel/text/signal-name.ts';

/** The bounds of texts that only people read. */
export const SHOWN_OUTPUT: OutputBounds = { head: 16 * 1024, tail: 16 * 1024, most: 64 * 2 ** 20 };

export function readEnding(end: CommandEnd): Ending {
  switch (end.kind) {
    case 'exited':
    case 'timeout':
    case 'out-of-memory':
      return end;
    case 'signalled':
      return { kind: 'signal', signal: nameSignal(end.signal) };
    case 'output-limit':
      return { kind: 'output-too-large' };
    case 'unstartable':
      return { kind: 'no-output', detail: end.detail };
  }
}

/** Formats the output, with a line for the omitted part. */
export function formatShownText({ head, tail, total }: PrintedOutput): string {
  const left = total - head.length - tail.length;
  const middle = left > 0 ? `\n[… ${left} bytes …]\n` : '';
  return shortenEvidence(`${head.toString('utf8')}${middle}${tail.toString('utf8')}`);
}

export function joinStreams({ stdout, stderr }: CommandResult): string {
  return shortenEvidence([formatShownText(stdout), formatShownText(stderr)].filter((text) => text !== '').join('\n'));
}

export function shortenEvidence(text: string): string {
  return text.slice(0, EVIDENCE_TEXT);
}
