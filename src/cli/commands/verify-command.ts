import { Command } from 'commander';
import type { VerificationOptions, VerifiedStore } from '../../policy-distribution/store/store-verification.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print } from '../terminal/output.ts';
import { formatStoreLines } from '../lines/store-lines.ts';

/** What `muster checkpoints verify` needs of the composition root. */
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
      const text = flags.json ? `${JSON.stringify(found, undefined, 2)}\n` : escapeUnprintable(`${formatStoreLines(found).join('\n')}\n`);
      await print(process.stdout, text);
      if (found.damaged.length > 0) process.exitCode = EXIT_CODES.infrastructure;
    });
}
