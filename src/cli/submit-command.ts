import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import type { SubmitOptions } from '../client/muster-client.ts';
import type { NewEvaluation } from '../client/request-bodies.ts';
import { broughtCheckpoint } from './bring-checkpoint.ts';
import { EXIT_CODES } from './exit-code.ts';
import { collect, wholeNumber } from './flag-values.ts';
import { interruption } from './interruption.ts';
import { print } from './output.ts';
import { addServerFlags, type Connect, type ServerFlags } from './server-flags.ts';
import { addStopFlags, stopOverride, type StopFlags } from './stop-override.ts';
import { watched } from './watch-command.ts';

interface SubmitFlags extends ServerFlags, StopFlags {
  readonly checkpoint: readonly string[];
  readonly baseline?: string;
  readonly run?: string;
  readonly step?: number;
  readonly watch?: true;
  readonly cache: boolean;
  readonly key?: string;
}

/** A suite that the server has a name for, or one to send. */
export type SuiteToSend = (nameOrPath: string) => Promise<NewEvaluation['suite']>;

/** @param suiteToSend reads the suite when it is a file. */
export function submitCommand(connect: Connect, suiteToSend: SuiteToSend): Command {
  const command = new Command('submit')
    .summary('have a server evaluate checkpoints')
    .description(
      'Submits an evaluation for each checkpoint, and prints their ids. The server is sent the checkpoints that it does not have.',
    )
    .argument('<suite>', 'suite file (YAML or JSON), or the name of a suite that the server has')
    .requiredOption(
      '-c, --checkpoint <checkpoint>',
      'file or directory of this machine, or a URI or SHA-256 that the server knows; give it again for further ones',
      collect,
    )
    .option('--baseline <checkpoint>', 'compare each with this one')
    .option('--run <name>', 'the training run that they belong to')
    .option('--step <number>', 'how far the run had got', wholeNumber)
    .option('--no-cache', 'play every episode anew')
    .option('--key <text>', 'idempotency key: sent again with it, it is the same request (one checkpoint only)')
    .option('-w, --watch', 'wait for the answers');
  return addServerFlags(addStopFlags(command)).action(async (suite: string, flags: SubmitFlags) => {
    using interrupt = interruption(process, 'no longer waiting; what was submitted goes on');
    const { signal } = interrupt;
    const client = connect(flags);
    const sent = await suiteToSend(suite);
    const { run, step: version, cache } = flags;
    const stop = stopOverride(flags);
    const baseline = flags.baseline === undefined ? undefined : await broughtCheckpoint(client, flags.baseline, signal);
    for (const given of flags.checkpoint) {
      const checkpoint = await broughtCheckpoint(client, given, signal);
      const options: SubmitOptions = { run, version, cache, stop, baseline, idempotencyKey: keyOf(flags), signal };
      const { id } = await client.submit(checkpoint, sent, options);
      if (flags.watch !== true) await print(process.stdout, flags.json ? `${JSON.stringify({ id })}\n` : `${id}\n`);
      else {
        const exitCode = await watched(client, id, flags.json === true, signal);
        if (exitCode !== EXIT_CODES.done) process.exitCode = exitCode;
      }
    }
  });
}

function keyOf({ key, checkpoint }: SubmitFlags): string {
  return key === undefined || checkpoint.length > 1 ? randomUUID() : key;
}
