import { Command, InvalidArgumentError } from 'commander';
import { escapeUnprintable } from '../../../kernel/text/printable.ts';
import { parseWholeNumber } from '../../flags/flag-values.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../../flags/server-flags.ts';
import { watchInterruption } from '../../terminal/interruption.ts';
import { print, formatJson } from '../../terminal/output.ts';

/**
 * Creates the commands for branches of episodes: continue after a step, show what has changed, and repeat the same steps on the present version of
 * the task.
 */
export function createEpisodeBranchCommands(connect: Connect): readonly Command[] {
  return [fork(connect), diff(connect), replay(connect)];
}

function fork(connect: Connect): Command {
  const command = new Command('fork')
    .description('Begins episodes that continue from a step of another one: prints their ids.')
    .argument('<episode>')
    .option('--at <step>', 'behind which step, 0 for the beginning; the last one when it is left out', parseStepNumber)
    .option('-n, --count <number>', 'how many', parseWholeNumber, 1)
    .option('--agent <name>', 'what they are listed by; as the episode when it is left out');
  return addServerFlags(command).action(
    async (
      id: string,
      { at, count, agent, ...flags }: ServerFlags & { readonly at?: number; readonly count: number; readonly agent?: string },
    ) => {
      using interrupt = watchInterruption(process);
      const forks = await connect(flags).arena.fork(id, { at, n: count, agent }, interrupt.signal);
      const lines = flags.json ? forks.map((each) => JSON.stringify(each)) : forks.map(({ episode }) => episode);
      await print(process.stdout, `${lines.join('\n')}\n`);
    },
  );
}

function diff(connect: Connect): Command {
  const command = new Command('diff')
    .description('Prints what has become of the files between two steps, as a unified diff.')
    .argument('<episode>')
    .option('--from <step>', 'step to compare with, 0 for the beginning', parseStepNumber, 0)
    .option('--at <step>', 'the last one when it is left out', parseStepNumber);
  return addServerFlags(command).action(
    async (id: string, { from, at, ...flags }: ServerFlags & { readonly from: number; readonly at?: number }) => {
      using interrupt = watchInterruption(process);
      const found = await connect(flags).arena.diff(id, { from, at }, interrupt.signal);
      if (flags.json) return await print(process.stdout, formatJson(found));
      const hidden = found.files.filter(({ isShown }) => !isShown).map(({ path, change }) => `${path}: ${change}, not shown\n`);
      await print(process.stdout, escapeUnprintable(`${found.patch}${hidden.join('')}`));
    },
  );
}

function replay(connect: Connect): Command {
  const command = new Command('replay')
    .description(
      'Takes the steps of an episode on the task as it is now: prints the id of the new episode, and on stderr which steps were answered otherwise.',
    )
    .argument('<episode>')
    .option('--task <id>', 'another task');
  return addServerFlags(command).action(async (id: string, { task, ...flags }: ServerFlags & { readonly task?: string }) => {
    using interrupt = watchInterruption(process);
    const differing: number[] = [];
    const onStep = (before: { readonly step: number; readonly observation: object }, now: { readonly observation: object }): void => {
      if (JSON.stringify(before.observation) !== JSON.stringify(now.observation)) differing.push(before.step);
    };
    const made = await connect(flags).arena.replay(id, { task, onStep }, interrupt.signal);
    if (flags.json) return await print(process.stdout, `${JSON.stringify({ episode: made, differing })}\n`);
    if (differing.length > 0) await print(process.stderr, `answered otherwise: steps ${differing.join(', ')}\n`);
    await print(process.stdout, `${made}\n`);
  });
}

/** 0 means the beginning of the episode. */
function parseStepNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number from 0 on.');
}
