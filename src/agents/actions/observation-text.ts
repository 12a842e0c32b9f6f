import type { CommandEnd } from '../workspace/command.ts';
import { escapeName, escapeText } from './escaped-text.ts';
import type { Excerpt, Observation, ObservationData } from './observation.ts';
import { nameSignal } from '../../kernel/text/signal-name.ts';

/** Returns the observation with what a model reads of it. */
export function toObservation(data: ObservationData): Observation {
  return { text: getText(data), data };
}

function getText(data: ObservationData): string {
  switch (data.kind) {
    case 'task':
      return data.instruction;
    case 'file':
      return formatFile(data);
    case 'written':
      return `Wrote ${data.bytes} bytes to ${escapeText(data.file)}.`;
    case 'edited':
      return `Edited ${escapeText(data.file)} at line ${data.line}; it has ${data.bytes} bytes now.`;
    case 'patched':
      return `Applied: ${data.files.map(({ file, change }) => `${escapeText(file)} ${change}`).join(', ')}.`;
    case 'listed':
      return listText(data);
    case 'found':
      return formatFound(data);
    case 'ran':
      return formatOutput(endText(data.end), data);
    case 'started':
      return `Started ${data.name}. It runs on.`;
    case 'polled':
      return formatOutput(data.end === null ? `${data.name} runs` : `${data.name}: ${endText(data.end)}`, data);
    case 'submitted':
      return 'Submitted. What is in the workspace is graded.';
    case 'refused':
      return `Not done (${data.reason}): ${escapeText(data.detail)}`;
  }
}

function formatFile({ file, content, from, lines, bytes }: Extract<ObservationData, { kind: 'file' }>): string {
  const shown = content === '' ? 0 : content.replace(/\n$/, '').split('\n').length;
  const part = shown === lines ? `${lines} lines` : `from line ${from}; ${lines} lines in all`;
  return `${escapeName(file)} (${part}, ${bytes} bytes):\n${escapeText(content)}`;
}

function listText({ path, entries, total, isComplete }: Extract<ObservationData, { kind: 'listed' }>): string {
  if (total === 0) return `${escapeText(path)} is empty.`;
  const rows = entries.map((entry) => {
    const name = escapeName(entry.path);
    switch (entry.kind) {
      case 'directory':
        return `${name}/`;
      case 'file':
        return `${name} (${entry.bytes} bytes)`;
      case 'link':
      case 'special':
        return `${name} (${entry.kind})`;
    }
  });
  return [...rows, ...(isComplete ? [] : [`[${entries.length} of ${total} entries or more are shown]`])].join('\n');
}

function formatFound({ matches, total, isComplete }: Extract<ObservationData, { kind: 'found' }>): string {
  if (total === 0) return isComplete ? 'No line holds it.' : 'No line of what was searched holds it; not every file was searched.';
  const rows = matches.map(({ file, line, text }) => `${escapeName(file)}:${line}: ${escapeText(text)}`);
  return [...rows, ...(isComplete ? [] : [`[${matches.length} of ${total} lines or more are shown]`])].join('\n');
}

/** Describes how a command ended, in words. */
export function endText(end: CommandEnd): string {
  switch (end.kind) {
    case 'exited':
      return `exit code ${end.code}`;
    case 'signalled':
      return `ended by ${nameSignal(end.signal)}`;
    case 'timeout':
      return 'ended: its time was over';
    case 'output-limit':
      return 'ended: it printed too much';
    case 'unstartable':
      return `it could not be started: ${escapeText(end.detail)}`;
    case 'out-of-memory':
      return 'ended, with everything in the workspace: out of memory';
  }
}

function formatOutput(first: string, { stdout, stderr }: { readonly stdout: Excerpt; readonly stderr: Excerpt }): string {
  return [first, ...formatPrinted('stdout', stdout), ...formatPrinted('stderr', stderr)].join('\n');
}

function formatPrinted(name: string, { text }: Excerpt): readonly string[] {
  return text === '' ? [] : [`${name}:`, text.replace(/\n$/, '')];
}
