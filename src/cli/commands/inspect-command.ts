import { Command } from 'commander';
import type { CheckpointInspection } from '../../policy-distribution/inspection/checkpoint-inspection.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { toFailedAttempt } from '../terminal/failed-attempt.ts';
import { formatInspection } from '../lines/inspection-lines.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';

/** What `muster checkpoints inspect` needs from the composition root. */
export type InspectCheckpoint = (path: string, terms: InspectTerms, signal: AbortSignal) => Promise<CheckpointInspection>;

export interface InspectTerms {
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

export function createInspectCommand(inspect: InspectCheckpoint): Command {
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
