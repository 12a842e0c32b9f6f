import type { CheckpointFacts } from '../../../orchestrator/results/summary.ts';
import { markup } from './markup.ts';
import type { Markup } from './markup.ts';

/** The last part of where it came from, which is how people call it. */
export function checkpointName({ uri }: Pick<CheckpointFacts, 'uri'>): string {
  return /[^/]+(?=\/*$)/.exec(uri)?.[0] ?? uri;
}

/** Short names that tell the checkpoints apart: where two have the same, the whole of where they came from. */
export function checkpointNames(checkpoints: readonly CheckpointFacts[]): string[] {
  const names = checkpoints.map(checkpointName);
  return names.map((name, position) => (names.indexOf(name) === names.lastIndexOf(name) ? name : (checkpoints[position]?.uri ?? name)));
}

/** The beginning of a digest tells two apart; the whole of it shows under the pointer, and stands in the table of facts. */
export function shortDigest(digest: string): Markup {
  return markup`<code title="${digest}">${digest.slice(0, 'sha256:'.length + 12)}…</code>`;
}

export function checkpointLine(checkpoint: CheckpointFacts, digest: string): Markup {
  const { uri, run, version } = checkpoint;
  const labels = [
    run === undefined ? undefined : markup` · run <bdi>${run}</bdi>`,
    version === undefined ? undefined : markup` · version ${version}`,
  ];
  return markup`<bdi class="path">${uri}</bdi>${labels} · ${shortDigest(digest)}`;
}
