import { Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { actionSchema } from '../../../agents/actions/action.ts';
import type { StepAnswer } from '../../../agents/arena/episode-answers.ts';
import type { AgentEpisode } from '../../../faces/client/arena-client.ts';
import { describeInvalidJson, parseWholeNumber } from '../../flags/flag-values.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../../flags/server-flags.ts';
import { escapeUnprintable } from '../../../kernel/text/printable.ts';
import { watchInterruption } from '../../terminal/interruption.ts';
import { print, formatJson } from '../../terminal/output.ts';
import { createEpisodeBranchCommands } from './episode-branch-commands.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';

const MOST_LISTED = 50;

/** Plays tasks by hand on a server. */
export function createEpisodeCommand(connect: Connect): Command {
  const episode = new Command('episode')
    .summary('play tasks for agents by hand on a server')
    .description('Episodes of agents on the tasks of a server (arena.tasks of its configuration).');
  for (const command of [
    start(connect),
    createStepCommand(connect),
    show(connect),
    createRewardCommand(connect),
    list(connect),
    cancel(connect),
  ])
    episode.addCommand(command);
  for (const command of createEpisodeBranchCommands(connect)) episode.addCommand(command);
  return episode;
}

function start(connect: Connect): Command {
  const command = new Command('start')
    .description('Begins an episode: prints its id, and the task on stderr.')
    .argument('<task>', 'id of a task, or the name of its directory')
    .option('--agent <name>', 'name under which the episode is listed', 'by-hand');
  return addServerFlags(command).action(async (task: string, { agent, ...flags }: ServerFlags & { readonly agent: string }) => {
    using interrupt = watchInterruption(process);
    const started = await connect(flags).arena.start(task, agent, 0, interrupt.signal);
    if (flags.json) return await print(process.stdout, formatJson(started));
    await print(process.stderr, `${escapeUnprintable(started.observation.text)}\n`);
    await print(process.stdout, `${started.episode}\n`);
  });
}

function createStepCommand(connect: Connect): Command {
  const command = new Command('step')
    .description('Takes a step: prints what the agent would see.')
    .argument('<episode>')
    .argument('<action>', `JSON: '{"action": "run", "command": "ls"}'; or the text of a command`, parseAction)
    .option('--step <number>', 'number of the step; the next one when left out', parseWholeNumber);
  return addServerFlags(command).action(
    async (id: string, given: Given, { step: number, ...flags }: ServerFlags & { readonly step?: number }) => {
      using interrupt = watchInterruption(process);
      const { arena } = connect(flags);
      const next = number ?? (await arena.get(id, interrupt.signal)).steps + 1;
      const answer = await arena.step(id, next, given, interrupt.signal);
      await print(process.stdout, flags.json ? formatJson(answer) : formatStep(answer));
    },
  );
}

type Given = z.infer<typeof actionSchema>;

function parseAction(text: string): Given {
  if (!text.startsWith('{')) return actionSchema.parse({ action: 'run', command: text });
  const value = tryParseJson(text);
  if (value === undefined) throw new InvalidArgumentError('expected JSON, or the text of a command.');
  const parsed = actionSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`this is not an action: ${describeInvalidJson(parsed.error, value, actionSchema)}`);
}

function formatStep({ step: number, observation, done, truncated, remaining, notice }: StepAnswer): string {
  const state = truncated
    ? 'a limit is reached: it is graded'
    : done
      ? 'submitted: it is graded'
      : remaining.steps === 1
        ? '1 step is left'
        : `${remaining.steps} steps are left`;
  return `${[...(notice === null ? [] : [notice]), escapeUnprintable(observation.text), `[step ${number}; ${state}]`].join('\n')}\n`;
}

function show(connect: Connect): Command {
  const command = new Command('show').description('Prints an episode and its steps.').argument('<episode>');
  return addServerFlags(command).action(async (id: string, flags: ServerFlags) => {
    using interrupt = watchInterruption(process);
    const { arena } = connect(flags);
    const found = await arena.get(id, interrupt.signal);
    await print(process.stdout, `${flags.json ? JSON.stringify(found) : formatEpisode(found)}\n`);
    let after = 0;
    for (;;) {
      const steps = await arena.steps(id, after, interrupt.signal);
      for (const each of steps)
        await print(
          process.stdout,
          flags.json ? `${JSON.stringify(each)}\n` : `\n> ${escapeUnprintable(JSON.stringify(each.action))}\n${formatStep(each.answer)}`,
        );
      const last = steps.at(-1);
      if (last === undefined) return;
      after = last.answer.step;
    }
  });
}

function createRewardCommand(connect: Connect): Command {
  const command = new Command('reward')
    .description('Waits for the verdict of an episode that was submitted, and prints its reward.')
    .argument('<episode>');
  return addServerFlags(command).action(async (id: string, flags: ServerFlags) => {
    using interrupt = watchInterruption(process);
    const answer = await connect(flags).arena.reward(id, interrupt.signal);
    const { reward: value, outcome, tests_passed: passed, total_tests: total, problem } = answer;
    const said = value === null ? `none: ${problem ?? outcome}` : `${value}; ${passed} of ${total} tests pass`;
    await print(process.stdout, flags.json ? formatJson(answer) : `reward ${escapeUnprintable(said)}\n`);
  });
}

interface ListFlags extends ServerFlags {
  readonly task?: string;
  readonly agent?: string;
  readonly leastReward?: number;
  readonly limit: number;
}

function parseReward(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0) return value;
  throw new InvalidArgumentError('expected a number from 0 on.');
}

function list(connect: Connect): Command {
  const command = new Command('list')
    .description('Lists episodes, latest first.')
    .option('--task <id>')
    .option('--agent <name>')
    .option('--least-reward <number>', 'those with this reward or a higher one', parseReward)
    .option('--limit <count>', 'most episodes that are listed', parseWholeNumber, MOST_LISTED);
  return addServerFlags(command).action(async ({ task, agent, leastReward, limit, ...flags }: ListFlags) => {
    using interrupt = watchInterruption(process);
    let listed = 0;
    for await (const each of connect(flags).arena.list({ task, agent, leastReward }, interrupt.signal)) {
      await print(process.stdout, `${flags.json ? JSON.stringify(each) : formatEpisode(each)}\n`);
      listed += 1;
      if (listed >= limit) return;
    }
  });
}

function cancel(connect: Connect): Command {
  const command = new Command('cancel').description('Cancels an episode. It has no reward.').argument('<episode>');
  return addServerFlags(command).action(async (id: string, flags: ServerFlags) => {
    using interrupt = watchInterruption(process);
    const cancelled = await connect(flags).arena.cancel(id, interrupt.signal);
    await print(process.stdout, `${flags.json ? JSON.stringify(cancelled, undefined, 2) : formatEpisode(cancelled)}\n`);
  });
}

function formatEpisode({ episode, task, agent, state, steps, outcome, reward: value }: AgentEpisode): string {
  const end = outcome === null ? state : value === null ? outcome : `${outcome} ${value}`;
  return `${episode}  ${task}  ${escapeUnprintable(agent)}  ${steps === 1 ? '1 step' : `${steps} steps`}  ${end}`;
}
