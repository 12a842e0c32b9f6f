import { open, type FileHandle } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createFormatter, ROLLOUT_FORMATS, type RolloutFormat } from '../../../agents/rollouts/formats/formats.ts';
import type { Trajectory } from '../../../agents/rollouts/record/trajectory.ts';
import { getReason } from '../../../kernel/errno.ts';
import { InfrastructureError, InputError, getMessage } from '../../../kernel/errors.ts';
import { alignColumns } from '../../lines/columns.ts';
import { formatListLine, describeTrajectory, LIST_HEAD } from '../../lines/trajectory-lines.ts';
import { formatNotice } from '../../terminal/error-report.ts';
import { print, formatJson } from '../../terminal/output.ts';
import type { Connect } from '../../flags/server-flags.ts';
import { exportHarborJob } from './harbor-export.ts';
import { createStreamCommands } from './stream-commands.ts';

/** Reads the trajectories of a results directory. */
export type ReadTrajectories = (directory: string) => AsyncIterable<Trajectory>;

const DIRECTORY = 'directory that "muster eval --out" or "muster compare --out" has kept';

/** Creates the subcommands for stored trajectories. */
export function createRolloutsCommand(read: ReadTrajectories, connect: Connect): Command {
  const command = new Command('rollouts')
    .summary('list, show and export what models have done on tasks; groups for trainings')
    .description(
      'Trajectories of agents that are models, as "muster eval --out" keeps them, and streams of their groups on a server (docs/rollouts.md).',
    );
  for (const inner of [createListCommand(read), createShowCommand(read), createExportCommand(read), ...createStreamCommands(connect)])
    command.addCommand(inner);
  return command;
}

function createListCommand(read: ReadTrajectories): Command {
  return new Command('list')
    .description('Lists trajectories: id, task, reward, turns, tokens, why they ended.')
    .argument('<directory>', DIRECTORY)
    .option('--json', 'print an object a line')
    .action(async (directory: string, { json }: { readonly json?: true }) => {
      const rows = [LIST_HEAD];
      for await (const trajectory of read(directory)) {
        if (json) await print(process.stdout, `${JSON.stringify(summariseTrajectory(trajectory))}\n`);
        else rows.push(formatListLine(trajectory));
      }
      if (!json) await print(process.stdout, `${alignColumns(rows).join('\n')}\n`);
    });
}

function createShowCommand(read: ReadTrajectories): Command {
  return new Command('show')
    .description('Prints a trajectory: the prompt, each turn with its tools and observations, the verdict.')
    .argument('<directory>', DIRECTORY)
    .argument('<trajectory>', 'its id, as "list" prints it')
    .option('--json', 'print the whole record')
    .action(async (directory: string, id: string, { json }: { readonly json?: true }) => {
      for await (const trajectory of read(directory)) {
        if (trajectory.trajectory !== id) continue;
        await print(process.stdout, json ? formatJson(trajectory) : `${describeTrajectory(trajectory).join('\n')}\n`);
        return;
      }
      throw new InputError(
        'rollouts.unknown',
        `${directory}: there is no trajectory ${id}; "muster rollouts list ${directory}" lists them`,
      );
    });
}

interface ExportFlags {
  readonly format: RolloutFormat | 'harbor';
  readonly out?: string;
  readonly minReward?: number;
}

function createExportCommand(read: ReadTrajectories): Command {
  return new Command('export')
    .summary('write trajectories in the format of a trainer')
    .description(
      'Writes trajectories as JSON Lines: muster (the record), atif (Harbor, 1.7), messages (chat data for fine-tuning), verl, slime, skyrl, verifiers; or as a job of Harbor, a directory: harbor.',
    )
    .argument('<directory>', DIRECTORY)
    .addOption(new Option('-f, --format <format>', 'what to write').choices([...ROLLOUT_FORMATS, 'harbor']).default('muster'))
    .option('-o, --out <file>', 'a new file; stdout when it is left out. For harbor a new directory')
    .addOption(
      new Option('--min-reward <number>', 'from 0 to 1: leave out those with less, and those without a verdict').argParser(parseReward),
    )
    .addHelpText('after', '\nExample:\n  muster rollouts export out/qwen --format messages --min-reward 1 --out sft.jsonl')
    .action(async (directory: string, { format, out, minReward }: ExportFlags) => {
      const chosen = filter(read(directory), minReward);
      if (format === 'harbor') {
        process.stderr.write(formatNotice(`${await exportHarborJob(chosen, out)} trajectories as a job of Harbor`));
        return;
      }
      const formatter = createFormatter(format);
      await using file = out === undefined ? undefined : await createFile(out);
      let [written, unfit] = [0, 0];
      for await (const trajectory of chosen) {
        const lines = formatter.format(trajectory);
        if (lines === undefined) unfit += 1;
        else written += 1;
        await write(file, (lines ?? []).map((line) => `${JSON.stringify(line)}\n`).join(''));
      }
      const left = unfit === 0 ? '' : `; ${unfit} are left out, which have no reward, or not all token ids with log-probabilities`;
      process.stderr.write(formatNotice(`${written} trajectories as ${format}${left}`));
    });
}

async function* filter(trajectories: AsyncIterable<Trajectory>, minReward = Number.NEGATIVE_INFINITY): AsyncGenerator<Trajectory> {
  for await (const trajectory of trajectories) if ((trajectory.reward ?? Number.NEGATIVE_INFINITY) >= minReward) yield trajectory;
}

function parseReward(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('expected a number from 0 to 1.');
}

function summariseTrajectory({ trajectory, task, group, rep, reward, status, stopReason, turns, usage, model }: Trajectory): object {
  return { trajectory, task, group, rep, reward, status, stopReason, turns: turns.length, usage, model };
}

/** @throws InputError `out.unusable` when the file exists already or cannot be created. */
async function createFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx');
  } catch (error) {
    throw new InputError('out.unusable', `--out ${path} cannot be made: ${getReason(error, path)}; name a new file`, { cause: error });
  }
}

/** @param file undefined for stdout. @throws InfrastructureError `out.write` */
async function write(file: FileHandle | undefined, text: string): Promise<void> {
  if (file === undefined) return await print(process.stdout, text);
  try {
    await file.writeFile(text);
  } catch (error) {
    throw new InfrastructureError('out.write', `--out could not be written: ${getMessage(error)}; free space there`, { cause: error });
  }
}
