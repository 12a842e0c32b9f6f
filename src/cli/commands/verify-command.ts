import { Command } from 'commander';
import { formatBytes } from '../../kernel/text/figures.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';
import type { VerificationOptions, VerifiedStore } from '../../policy-distribution/store/store-verification.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';

/** What `muster checkpoints verify` needs from the composition root. */
export type OpenCheckpoints = (configFile: string | undefined) => Promise<{ verify(options: VerificationOptions): Promise<VerifiedStore> }>;

interface VerifyFlags {
  readonly remove?: true;
  readonly json?: true;
  readonly config?: string;
}

export function createVerifyCommand(open: OpenCheckpoints): Command {
  return new Command('verify')
    .summary('read all files of the checkpoint store, and tell which are not what they were')
    .description(
      'Hashes what is kept as it is, and rebuilds in memory what is kept as a delta. Musters that use the store may go on meanwhile. Nothing that is damaged is ever played, whether this has been run or not.',
    )
    .option('--remove', 'take out what is damaged, so that it is brought anew')
    .option('--json', 'print exactly one JSON document on stdout')
    .option('--config <file>', 'configuration file that says where the store is (default: config/default.yaml alone)')
    .addHelpText('after', '\nExit codes: 0 all is intact, 2 bad configuration, 3 something is damaged, or the store cannot be read')
    .action(async (flags: VerifyFlags) => {
      using interrupt = watchInterruption(process);
      const store = await open(flags.config);
      const found = await store.verify({ remove: flags.remove === true, signal: interrupt.signal });
      const text = flags.json ? formatJson(found) : escapeUnprintable(`${formatStoreLines(found).join('\n')}\n`);
      await print(process.stdout, text);
      if (found.damaged.length > 0) process.exitCode = EXIT_CODES.infrastructure;
    });
}

/** The result of verifying all files of a checkpoint store, for people. */
function formatStoreLines({ intact, bytes, damaged, incomplete }: VerifiedStore): readonly string[] {
  const lines = [`${intact} ${intact === 1 ? 'file is' : 'files are'} intact; ${formatBytes(bytes)} were verified`];
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
