import type { CheckpointFacts } from '../../../orchestrator/results/summary.ts';
import { markup, type Markup } from './markup.ts';

/** Returns the last part of where it came from, which is how people call it. */
export function nameCheckpoint({ uri }: Pick<CheckpointFacts, 'uri'>): string {
  return /[^/]+(?=\/*$)/.exec(uri)?.[0] ?? uri;
}

/** Returns short names that tell the checkpoints apart: where two are equal, their whole origin. */
export function nameCheckpoints(checkpoints: readonly CheckpointFacts[]): string[] {
  const names = checkpoints.map(nameCheckpoint);
  return names.map((name, position) => (names.indexOf(name) === names.lastIndexOf(name) ? name : (checkpoints[position]?.uri ?? name)));
}

/** The beginning of a digest is enough to tell two apart; the whole one shows under the pointer, and in the table of facts. */
export function renderShortDigest(digest: string): Markup {
  return markup`<code title="${digest}">${digest.slice(0, 'sha256:'.length + 12)}…</code>`;
}

export function renderCheckpointLine(checkpoint: CheckpointFacts, digest: string): Markup {
  const { uri, run, version } = checkpoint;
  const labels = [
    run === undefined ? undefined : markup` · run <bdi>${run}</bdi>`,
    version === undefined ? undefined : markup` · version ${version}`,
  ];
  return markup`<bdi class="path">${uri}</bdi>${labels} · ${renderShortDigest(digest)}`;
}
