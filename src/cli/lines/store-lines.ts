import type { VerifiedStore } from '../../policy-distribution/store/store-verification.ts';

const MIB = 2 ** 20;

/** The result of verifying all files of a checkpoint store, for people. */
export function formatStoreLines({ intact, bytes, damaged, incomplete }: VerifiedStore): readonly string[] {
  const lines = [`${intact} ${intact === 1 ? 'file is' : 'files are'} intact; ${(bytes / MIB).toFixed(1)} MiB were verified`];
  for (const { path, problem, removed } of damaged) lines.push(`damaged${removed ? ', removed' : ''}: ${path}: ${problem}`);
  for (const { digest, missing } of incomplete) lines.push(`incomplete: ${digest}: ${shorten(missing)}; store it again to evaluate it`);
  if (damaged.some(({ removed }) => !removed))
    lines.push('Remove what is damaged with --remove. A checkpoint that is needed is then stored again.');
  return lines;
}

function shorten(paths: readonly string[]): string {
  const [first = ''] = paths;
  return paths.length > 1 ? `${first} and ${paths.length - 1} more` : first;
}
