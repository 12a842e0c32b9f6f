import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { NewEvaluation } from '../client/muster-client.ts';
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
    .description('Submits an evaluation for each checkpoint, and prints their ids.')
    .argument('<suite>', 'suite file (YAML or JSON), or the name of a suite that the server has')
    .requiredOption('-c, --checkpoint <path>', "path on the server's machine; give it again for further ones", collect)
    .option('--baseline <path>', 'compare each with this checkpoint')
    .option('--run <name>', 'the training run that they belong to')
    .option('--step <number>', 'how far the run had got', wholeNumber)
    .option('--no-cache', 'play every episode anew')
    .option('--key <text>', 'idempotency key: sent again with it, it is the same request (one checkpoint only)')
    .option('-w, --watch', 'wait for the answers');
  return addServerFlags(addStopFlags(command)).action(async (suite: string, flags: SubmitFlags) => {
    using interrupt = interruption(process, 'no longer waiting; what was submitted goes on');
    const client = connect(flags);
    const sent = await suiteToSend(suite);
    for (const path of flags.checkpoint) {
      const idempotencyKey = flags.key === undefined || flags.checkpoint.length > 1 ? randomUUID() : flags.key;
      const { id } = await client.submit(bodyOf(sent, path, flags), { idempotencyKey, signal: interrupt.signal });
      if (flags.watch !== true) await print(process.stdout, flags.json ? `${JSON.stringify({ id })}\n` : `${id}\n`);
      else {
        const exitCode = await watched(client, id, flags.json === true, interrupt.signal);
        if (exitCode !== EXIT_CODES.done) process.exitCode = exitCode;
      }
    }
  });
}

function bodyOf(suite: NewEvaluation['suite'], path: string, flags: SubmitFlags): NewEvaluation {
  const labels = {
    ...(flags.run === undefined ? {} : { run: flags.run }),
    ...(flags.step === undefined ? {} : { version: flags.step }),
  };
  const stop = stopOverride(flags);
  return {
    suite,
    checkpoint: { uri: resolve(path), ...labels },
    ...(flags.baseline === undefined ? {} : { baseline: { uri: resolve(flags.baseline) } }),
    ...(stop ? { stop } : {}),
    cache: flags.cache ? 'on' : 'off',
  };
}
