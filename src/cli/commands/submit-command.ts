import { Command, Option } from 'commander';
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { OpenedBatch } from '../../faces/client/batch/batch.ts';
import type { MusterClient, SubmitOptions } from '../../faces/client/muster-client.ts';
import { nameCheckpoint, nameFile, type NamedCheckpoint } from '../../faces/client/named-checkpoint.ts';
import type { NewEvaluation } from '../../faces/client/request-bodies.ts';
import { InputError } from '../../kernel/errors.ts';
import { collect, parseWholeNumberFromZero } from '../flags/flag-values.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../flags/server-flags.ts';
import { addStopFlags, type StopFlags, buildStopOverride } from '../flags/stop-override.ts';
import { openProgressDisplay } from '../progress/progress-display.ts';
import { createUploadView } from '../progress/remote-progress.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print } from '../terminal/output.ts';
import { submitBatch } from './submit-batch.ts';
import { followEvaluation } from './watch-command.ts';

interface SubmitFlags extends ServerFlags, StopFlags {
  readonly checkpoint?: readonly string[];
  readonly batch?: string;
  readonly baseline?: string;
  readonly base?: string;
  readonly run?: string;
  readonly step?: number;
  readonly watch?: true;
  readonly cache: boolean;
  readonly key?: string;
}

/** The name of a suite on the server, or a suite to send. */
export type SuiteToSend = (nameOrPath: string) => Promise<NewEvaluation['suite']>;

/** `muster submit` gets this from the composition root. */
export interface SubmitContext {
  readonly connect: Connect;
  /** Reads the suite when the argument is a file. */
  readonly suiteToSend: SuiteToSend;
  readonly openBatch: (path: string) => Promise<OpenedBatch>;
}

export function createSubmitCommand(context: SubmitContext): Command {
  const command = new Command('submit')
    .summary('have a server evaluate checkpoints')
    .description(
      'Submits an evaluation for each checkpoint, and prints their ids; or all of a batch file, and waits. The server is sent the checkpoints that it does not have.',
    )
    .argument('[suite]', 'suite file (YAML or JSON), or the name of a suite that the server has')
    .option(
      '-c, --checkpoint <checkpoint>',
      'file or directory of this machine, or a URI or SHA-256 that the server knows; give it again for further ones',
      collect,
    )
    .addOption(
      new Option('--batch <file>', 'checkpoints and suites (YAML): what is missing is evaluated, and all are waited for').conflicts(
        SAID_BY_BATCH,
      ),
    )
    .option('--baseline <checkpoint>', 'compare each with this one')
    .option('--base <path>', 'a checkpoint that the server may have, such as the one before: only what differs from it is sent')
    .option('--run <name>', 'the training run that they belong to')
    .option('--step <number>', 'training step of the run', parseWholeNumberFromZero)
    .option('--no-cache', 'play every episode again')
    .option('--key <text>', 'idempotency key: sent again with it, it is the same request (one checkpoint only)')
    .option('-w, --watch', 'wait for the answers');
  return addServerFlags(addStopFlags(command))
    .addHelpText('after', HELP)
    .action(async (suite: string | undefined, flags: SubmitFlags) => {
      const { batch, checkpoint, json } = flags;
      if (batch !== undefined && suite === undefined) {
        const opened = await context.openBatch(batch);
        const client = context.connect({ ...flags, patienceSeconds: BATCH_PATIENCE_SECONDS });
        process.exitCode = await submitBatch(opened, { path: batch, client, json: json === true });
      } else if (suite !== undefined && checkpoint !== undefined) {
        await submitAll(context, { ...flags, checkpoint }, suite);
      } else
        throw new InputError('flags.submit', 'expected a suite and --checkpoint, or --batch alone; "muster submit --help" has examples');
    });
}

/** A batch takes hours, during which a server may be replaced. */
const BATCH_PATIENCE_SECONDS = 900;
const SAID_BY_BATCH = ['checkpoint', 'cache', 'baseline', 'base', 'run', 'step', 'key', 'watch', 'episodes', 'halfWidth', 'rule'];

const HELP = `
Exit codes of --watch and --batch:
  0    finished, all of a batch
  2    bad input: a suite, checkpoint or flag; or all episodes failed
  3    the infrastructure failed, the server cannot be reached, or a quota is used up for now
  4, 5 with --baseline: a candidate is worse; one has no verdict within the budget
  6    some of a batch were refused, failed or cancelled
  130  cancelled, or no longer watched

Examples:
  muster submit cartpole -c runs/r7/step-1200.safetensors --run r7 --step 1200 --watch
  muster submit --batch examples/batch.yaml`;

async function submitAll(
  { connect, suiteToSend }: SubmitContext,
  flags: SubmitFlags & { readonly checkpoint: readonly string[] },
  suite: string,
): Promise<void> {
  using interrupt = watchInterruption(process, 'no longer waiting; what was submitted goes on');
  const { signal } = interrupt;
  const client = connect(flags);
  const sent = await suiteToSend(suite);
  const { run, step: version, cache } = flags;
  const stop = buildStopOverride(flags);
  const baseline = flags.baseline === undefined ? undefined : await bringCheckpoint(client, flags.baseline, signal);
  for (const given of flags.checkpoint) {
    const checkpoint = await bringCheckpoint(client, given, signal, flags.base);
    const options: SubmitOptions = { run, version, cache, stop, baseline, idempotencyKey: selectKey(flags), signal };
    const { id } = await client.submit(checkpoint, sent, options);
    if (flags.watch !== true) await print(process.stdout, flags.json ? `${JSON.stringify({ id })}\n` : `${id}\n`);
    else {
      const exitCode = await followEvaluation(client, id, flags.json === true, signal);
      if (exitCode !== EXIT_CODES.done) process.exitCode = exitCode;
    }
  }
}

function selectKey({ key, checkpoint = [] }: SubmitFlags): string {
  return key === undefined || checkpoint.length > 1 ? randomUUID() : key;
}

/**
 * Returns a checkpoint as a request names it. Uploads a checkpoint of this machine, with progress on stderr.
 *
 * @param given path, URI or SHA-256. @param base path of a checkpoint that the server may have.
 */
async function bringCheckpoint(client: MusterClient, given: string, signal: AbortSignal, base?: string): Promise<NamedCheckpoint> {
  const named = nameCheckpoint(given);
  if (!('path' in named)) return named;
  const began = performance.now();
  using display = openProgressDisplay(createUploadView(basename(named.path)), process.stderr);
  const sha256 = await client.upload(named.path, {
    signal,
    base,
    onUpload: (upload) => display.show({ ...upload, seconds: (performance.now() - began) / 1000 }),
  });
  return { name: nameFile(named.path), sha256 };
}
