import { Command } from 'commander';
import type { CheckpointInspection } from '../../policy-distribution/inspection/checkpoint-inspection.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { toFailedAttempt } from '../terminal/failed-attempt.ts';
import { formatInspection } from '../lines/inspection-lines.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';
import { formatBytes } from '../../kernel/text/figures.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';
import type { VerificationOptions, VerifiedStore } from '../../policy-distribution/store/store-verification.ts';

export function createCheckpointsCommand(inspect: InspectCheckpoint, open: OpenCheckpoints): Command {
  return new Command('checkpoints')
    .summary('look into a checkpoint, and verify those that are kept')
    .description('Shows what a checkpoint holds, and verifies the checkpoints that are kept on this machine. Nothing of them is run.')
    .addCommand(createInspectCommand(inspect))
    .addCommand(createVerifyCommand(open));
}

/** `muster checkpoints inspect` gets this from the composition root. */
type InspectCheckpoint = (path: string, terms: InspectTerms, signal: AbortSignal) => Promise<CheckpointInspection>;

interface InspectTerms {
  /** Path of a configuration file. */
  readonly config: string | undefined;
  /** Read the whole checkpoint to get its digest, also from another machine. */
  readonly digest: boolean;
}

interface InspectFlags {
  readonly json?: true;
  readonly digest?: true;
  readonly config?: string;
}

function createInspectCommand(inspect: InspectCheckpoint): Command {
  return new Command('inspect')
    .summary('say what a checkpoint holds')
    .description(
      'Prints the digest of a checkpoint, its files, and what is in them: tensors with their types, shapes and sizes, and metadata.',
    )
    .argument('<checkpoint>', 'file or directory, https://…, gs://bucket/name or s3://bucket/name')
    .option('--digest', 'read all of it and say its digest, also where it lies elsewhere')
    .option('--config <file>', 'configuration file, for the bounds of checkpoints and their sources (default: config/default.yaml alone)')
    .option('--json', 'print exactly one JSON document on stdout')
    .addHelpText('after', HELP)
    .action(async (path: string, flags: InspectFlags) => {
      process.exitCode = await inspectAndPrint(inspect, path, flags);
    });
}

const HELP = `
Exit codes:
  0    done
  1    a defect of Muster
  2    bad input: there is no such checkpoint, or it is not whole
  3    the infrastructure failed
  130  interrupted

Example:
  muster checkpoints inspect examples/game/checkpoints/late.safetensors`;

async function inspectAndPrint(inspect: InspectCheckpoint, path: string, { json, config, digest }: InspectFlags): Promise<number> {
  using interrupt = watchInterruption(process);
  try {
    const found = await inspect(path, { config, digest: digest === true }, interrupt.signal);
    await print(process.stdout, json ? formatJson(found) : `${formatInspection(found).join('\n')}\n`);
    return interrupt.signal.aborted ? EXIT_CODES.interrupted : EXIT_CODES.done;
  } catch (error) {
    const failed = toFailedAttempt(error, interrupt.signal, `all of ${path} was read`);
    await print(process.stderr, failed.report);
    return failed.exitCode;
  }
}

/** `muster checkpoints verify` gets this from the composition root. */
type OpenCheckpoints = (configFile: string | undefined) => Promise<{ verify(options: VerificationOptions): Promise<VerifiedStore> }>;

interface VerifyFlags {
  readonly remove?: true;
  readonly json?: true;
  readonly config?: string;
}

function createVerifyCommand(open: OpenCheckpoints): Command {
  return new Command('verify')
    .summary('read all files of the checkpoint store, and tell which are not what they were')
    .description(
      'Hashes what is kept as it is, and rebuilds in memory what is kept as a delta. Musters that use the store may continue meanwhile. Nothing that is damaged is ever played, whether this has been run or not.',
    )
    .option('--remove', 'remove damaged files, so that they are sent again')
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

/** Formats the result of verifying all files of a checkpoint store, for people. */
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
