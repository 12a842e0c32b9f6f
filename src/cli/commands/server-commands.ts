import { Command, InvalidArgumentError } from 'commander';
import { formatWaiting } from '../../kernel/text/figures.ts';
import { z } from 'zod';
import type { Filter } from '../../faces/client/list-filter.ts';
import { EVALUATION_STATES } from '../../evaluation-store/evaluation-record.ts';
import type { EvaluationItem } from '../../faces/http/schemas/evaluation-schemas.ts';
import type { Pool, PoolChange } from '../../faces/http/schemas/pool-schemas.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import { formatEvaluationList, isAnsweredElsewhere, type Listed } from '../lines/evaluation-list.ts';
import { parseWholeNumber } from '../flags/flag-values.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../flags/server-flags.ts';

interface ListFlags extends ServerFlags {
  readonly run?: string;
  readonly suite?: string;
  readonly state?: readonly State[];
  readonly label?: Label;
  readonly limit: number;
}

type State = EvaluationItem['state'];
type Label = NonNullable<Filter['label']>;

const MOST_LISTED = 50;

export function createListCommand(connect: Connect): Command {
  const command = new Command('list')
    .summary('list the evaluations of a server')
    .description('Lists evaluations and comparisons, latest first.')
    .option('--run <name>')
    .option('--suite <name>')
    .option('--state <states>', 'waiting, running, finished, cancelled, failed; several with commas', parseStates)
    .option('--label <name=value>', 'evaluations with this label', label)
    .option('--limit <count>', 'how many at most', parseWholeNumber, MOST_LISTED);
  return addServerFlags(command).action(async ({ run, suite, state, label, limit, ...flags }: ListFlags) => {
    using interrupt = watchInterruption(process);
    const { signal } = interrupt;
    const client = connect(flags);
    const listed: Listed[] = [];
    for await (const item of client.list({ run, suite, state, label }, { signal })) {
      if (flags.json) await print(process.stdout, `${JSON.stringify(item)}\n`);
      listed.push(!flags.json && isAnsweredElsewhere(item) ? await client.get(item.id, signal) : item);
      if (listed.length >= limit) break;
    }
    const filters = Object.entries({ run, suite, state, label }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`]));
    if (!flags.json) await print(process.stdout, `${formatEvaluationList(listed, systemClock.date(), filters).join('\n')}\n`);
  });
}

export function createCancelCommand(connect: Connect): Command {
  const command = new Command('cancel')
    .summary('call off an evaluation on a server')
    .description('Cancels an evaluation. The episodes that count by then are kept as a partial summary.')
    .argument('<id>', 'as "muster submit" printed it');
  return addServerFlags(command).action(async (id: string, flags: ServerFlags) => {
    using interrupt = watchInterruption(process);
    const evaluation = await connect(flags).cancel(id, interrupt.signal);
    if (evaluation.cancelRequestedAt === null) await print(process.stderr, formatNotice(`${id} had ended before: nothing was cancelled`));
    await print(
      process.stdout,
      flags.json ? formatJson(evaluation) : `${formatEvaluationList([evaluation], systemClock.date()).join('\n')}\n`,
    );
  });
}

interface ScaleFlags extends ServerFlags {
  readonly min?: number;
  readonly max?: number;
  readonly warm?: number;
}

export function createPoolCommand(connect: Connect): Command {
  const pool = new Command('pool').summary('look at and scale the pools of a server').description('Pools of sandboxes on a server.');
  const change = async (name: string, wanted: PoolChange, flags: ServerFlags): Promise<void> => {
    using interrupt = watchInterruption(process);
    await printPools([await connect(flags).changePool(name, wanted, interrupt.signal)], flags);
  };
  addServerFlags(pool.command('list').description('Lists the pools.')).action(async (flags: ServerFlags) => {
    using interrupt = watchInterruption(process);
    await printPools(await connect(flags).pools(interrupt.signal), flags);
  });
  const scale = pool
    .command('scale')
    .description('Scales a pool until the server ends.')
    .argument('<name>')
    .option('--min <count>', 'sandboxes kept even when no evaluation needs them', count)
    .option('--max <count>', 'sandboxes at most', parseWholeNumber)
    .option('--warm <count>', 'idle sandboxes kept ready beyond those in use', count);
  addServerFlags(scale).action(async (name: string, { min, max, warm, ...flags }: ScaleFlags) => {
    const wanted = {
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      ...(warm === undefined ? {} : { warm }),
    };
    if (Object.keys(wanted).length === 0)
      throw new InputError(
        'flags.scale',
        'expected a change: --min, --max or --warm with a number; "muster pool list" shows the present values',
      );
    await change(name, wanted, flags);
  });
  addServerFlags(pool.command('drain').description('Finishes what is under way, then plays nothing.').argument('<name>')).action(
    (name: string, flags: ServerFlags) => change(name, { draining: true }, flags),
  );
  addServerFlags(pool.command('resume').description('Plays again on a pool that drains.').argument('<name>')).action(
    (name: string, flags: ServerFlags) => change(name, { draining: false }, flags),
  );
  return pool;
}

function parseStates(text: string): readonly State[] {
  const parsed = z.array(z.enum(EVALUATION_STATES)).safeParse(text.split(','));
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`expected some of ${EVALUATION_STATES.join(', ')}, with commas between them.`);
}

function label(text: string): Label {
  const at = text.indexOf('=');
  if (at > 0) return { name: text.slice(0, at), value: text.slice(at + 1) };
  throw new InvalidArgumentError('expected NAME=VALUE.');
}

function count(text: string): number {
  return text === '0' ? 0 : parseWholeNumber(text);
}

async function printPools(pools: readonly Pool[], { json }: ServerFlags): Promise<void> {
  for (const pool of pools) await print(process.stdout, `${json ? JSON.stringify(pool) : formatPool(pool)}\n`);
}

function formatPool({ name, min, max, warm, draining, sandboxes, waiting }: Pool): string {
  const { leased, idle, creating, warming } = sandboxes;
  const how = draining ? 'draining' : `min ${min} max ${max} warm ${warm}`;
  return `${name}  ${how}  ${leased} playing, ${idle} idle, ${creating + warming} starting, ${formatWaiting(waiting)}`;
}
