import { Command, Option } from 'commander';
import { ADVANTAGES } from '../../../agents/rollouts/groups/compute-advantages.ts';
import type { RolloutTerms } from '../../../faces/client/rollouts-client.ts';
import type { RolloutsResource } from '../../../faces/http/schemas/rollout-schemas.ts';
import { parseWholeNumber } from '../../flags/flag-values.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../../flags/server-flags.ts';
import { alignColumns } from '../../lines/columns.ts';
import { watchInterruption } from '../../terminal/interruption.ts';
import { print } from '../../terminal/output.ts';

interface StartFlags extends ServerFlags {
  readonly groupSize: number;
  readonly concurrency: number;
  readonly batch?: number;
  readonly maxStaleness: number;
  readonly total?: number;
  readonly policy?: string;
  readonly advantages: RolloutTerms['advantages'];
}

/** Begins, shows and ends streams of groups on a server. Trainers take the groups with a client. */
export function createStreamCommands(connect: Connect): readonly Command[] {
  return [createStartCommand(connect), createStatusCommand(connect), createCancelCommand(connect)];
}

function createStartCommand(connect: Connect): Command {
  const command = new Command('start')
    .summary('begin a stream of groups for a training on a server')
    .description('Begins a stream of groups of trajectories on a server, and prints its id (docs/rollouts.md).')
    .argument('<suite>', 'name of a suite that the server has; tasks for agents cannot be sent')
    .argument('<agent>', 'file that says what the model is')
    .option('--group-size <count>', 'trajectories of a group', parseWholeNumber, 8)
    .option('--concurrency <count>', 'trajectories at a time', parseWholeNumber, 16)
    .option('--batch <count>', 'groups for one version of the policy (default: as many as run at a time)', parseWholeNumber)
    .option('--max-staleness <count>', 'by how many versions the policy may be newer than the oldest in a group', parseCount, 1)
    .option('--total <count>', 'groups in all (default: no end)', parseWholeNumber)
    .option('--policy <name>', 'name under which the trainer reports versions (default: the model)')
    .addOption(new Option('--advantages <kind>').choices(ADVANTAGES).default('grpo'));
  return addServerFlags(command).action(async (suite: string, agent: string, flags: StartFlags) => {
    using interrupt = watchInterruption(process);
    const { groupSize, concurrency, batch, maxStaleness, total, policy, advantages } = flags;
    const terms = { groupSize, concurrency, batch, maxStaleness, total, policy, advantages };
    const stream = await connect(flags).startRollouts(agent, suite, terms, { signal: interrupt.signal });
    await print(process.stdout, flags.json ? formatJson(stream) : `${stream.id}\n`);
  });
}

function createStatusCommand(connect: Connect): Command {
  const command = new Command('status')
    .description('Shows streams of groups on a server: what became of their groups.')
    .argument('[stream]', 'its id; all when it is left out');
  return addServerFlags(command).action(async (id: string | undefined, flags: ServerFlags) => {
    using interrupt = watchInterruption(process);
    const { rollouts } = connect(flags);
    await printStreams(
      id === undefined ? await rollouts.list(undefined, interrupt.signal) : [await rollouts.get(id, interrupt.signal)],
      flags,
    );
  });
}

function createCancelCommand(connect: Connect): Command {
  const command = new Command('cancel').description('Ends a stream of groups on a server.').argument('<stream>', 'its id');
  return addServerFlags(command).action(async (id: string, flags: ServerFlags) => {
    using interrupt = watchInterruption(process);
    await printStreams([await connect(flags).rollouts.cancel(id, interrupt.signal)], flags);
  });
}

const HEAD = ['stream', 'suite', 'policy', 'state', 'begun', 'ready', 'taken', 'filtered', 'stale', 'problem'];

async function printStreams(streams: readonly RolloutsResource[], { json }: ServerFlags): Promise<void> {
  const text = json ? streams.map(formatJson).join('') : `${alignColumns([HEAD, ...streams.map(formatStream)]).join('\n')}\n`;
  await print(process.stdout, text);
}

function formatStream({ id, suite, policy, state, groups, problem }: RolloutsResource): readonly string[] {
  const { begun, ready, acknowledged, filtered, stale } = groups;
  return [id, suite, policy, state, ...[begun, ready, acknowledged, filtered, stale].map(String), problem ?? ''];
}

function formatJson(stream: RolloutsResource): string {
  return `${JSON.stringify(stream)}\n`;
}

function parseCount(text: string): number {
  return text === '0' ? 0 : parseWholeNumber(text);
}
