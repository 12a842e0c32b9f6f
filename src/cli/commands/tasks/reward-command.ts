import { Command, InvalidArgumentError, Option } from 'commander';
import { shapeReward } from '../../../agents/arena/reward.ts';
import { weightsSchema, type RewardTerms } from '../../../agents/tasks/arena-rules.ts';
import { escapeUnprintableLine } from '../../../kernel/text/printable.ts';
import { describeInvalidJson } from '../../flags/flag-values.ts';
import { addNeededOption } from '../../flags/needed-option.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../../flags/server-flags.ts';
import { watchInterruption } from '../../terminal/interruption.ts';
import { print } from '../../terminal/output.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';

interface RewardFlags extends ServerFlags {
  readonly weights: RewardTerms;
  readonly task?: string;
  readonly agent?: string;
}

/** Computes rewards of closed episodes under other weights from their stored components. Nothing on the server changes. */
export function createRewardCommand(connect: Connect): Command {
  const command = new Command('reward')
    .summary('compute rewards of episodes again under other weights')
    .description('Computes the rewards of closed episodes again, from what is stored with them. Nothing on the server changes.')
    .argument('[episodes...]', 'ids; all that the flags choose when they are left out')
    .option('--task <id>')
    .option('--agent <name>');
  const description = `JSON: '{"shaping": "none"}'; what is left out has its usual value`;
  addNeededOption(command, new Option('-w, --weights <json>', description).argParser(parseWeights));
  return addServerFlags(command).action(async (ids: readonly string[], { weights, task, agent, ...flags }: RewardFlags) => {
    using interrupt = watchInterruption(process);
    const { arena } = connect(flags);
    const chosen = ids.length > 0 ? ids : arena.list({ task, agent, state: 'closed' }, interrupt.signal);
    for await (const each of chosen) {
      const id = typeof each === 'string' ? each : each.episode;
      const { reward, components } = await arena.reward(id, interrupt.signal);
      const again = components === null ? reward : shapeReward(components, weights);
      const line = flags.json
        ? JSON.stringify({ episode: id, reward, again, components })
        : `${id}  ${reward ?? 'none'}  ${again ?? 'none'}`;
      await print(process.stdout, `${escapeUnprintableLine(line)}\n`);
    }
  });
}

function parseWeights(text: string): RewardTerms {
  const value = tryParseJson(text);
  if (value === undefined) throw new InvalidArgumentError('expected JSON, such as {"style": 0}.');
  const parsed = weightsSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(describeInvalidJson(parsed.error, value, weightsSchema));
}
