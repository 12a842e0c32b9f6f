import type { FileRefusal } from '../workspace/command.ts';
import { escapeText } from './escaped-text.ts';
import type { ObservationData, RefusalReason } from './observation.ts';

/** The agent reads the detail, so that it can correct the action. */
export function refuse(reason: RefusalReason, detail: string): ObservationData {
  return { kind: 'refused', reason, detail: escapeText(detail.slice(0, 4000)) };
}

const REASONS: Readonly<Record<string, RefusalReason>> = {
  path: 'outside',
  missing: 'missing',
  running: 'running',
  directory: 'directory',
  special: 'special-file',
  link: 'link',
  name: 'name',
  'too-large': 'too-large',
  'too-many': 'too-many',
  full: 'full',
};

/** Translates a workspace's refusal of a file for the agent. */
export function refuseFile({ kind, path, detail }: FileRefusal): ObservationData {
  return refuse(REASONS[kind] ?? 'unreadable', path === '' ? detail : `${path}: ${detail}`);
}
