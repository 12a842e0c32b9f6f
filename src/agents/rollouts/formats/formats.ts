import type { Trajectory } from '../record/trajectory.ts';
import { formatAtif } from './atif.ts';
import { formatMessages } from './chat-messages.ts';
import { formatSkyrl, formatVerl, SlimeFormat } from './samples.ts';
import { formatVerifiers } from './verifiers-trace.ts';

/** The formats of trajectories, each with one object on a line. */
export const ROLLOUT_FORMATS = ['muster', 'atif', 'messages', 'verl', 'slime', 'skyrl', 'verifiers'] as const;

export type RolloutFormat = (typeof ROLLOUT_FORMATS)[number];

/** Formats of tokens. A trajectory without tokens cannot be written in them. */
const OF_TOKENS: ReadonlySet<RolloutFormat> = new Set(['verl', 'slime', 'skyrl', 'verifiers']);

/** Formats of one conversation. A rewritten one cannot be written in them, because the model never saw it in this order. */
const OF_CONVERSATIONS: ReadonlySet<RolloutFormat> = new Set(['atif', 'messages']);

/** Writes trajectories in one format, one after the other. */
export interface RolloutFormatter {
  /**
   * Returns the trajectory's lines; undefined in a format of tokens, when the trajectory lacks tokens with log-probabilities or a reward; and in a
   * format of conversations, when the program has rewritten the conversation.
   */
  format(trajectory: Trajectory): readonly object[] | undefined;
}

export function createFormatter(format: RolloutFormat): RolloutFormatter {
  const lines = createLines(format);
  if (OF_CONVERSATIONS.has(format)) return { format: (trajectory) => (trajectory.rewritten === true ? undefined : lines(trajectory)) };
  if (!OF_TOKENS.has(format)) return { format: lines };
  return { format: (trajectory) => (canTrain(trajectory) ? lines(trajectory) : undefined) };
}

function createLines(format: RolloutFormat): (trajectory: Trajectory) => readonly object[] {
  switch (format) {
    case 'muster':
      return (trajectory) => [trajectory];
    case 'atif':
      return (trajectory) => [formatAtif(trajectory)];
    case 'messages':
      return (trajectory) => [formatMessages(trajectory)];
    case 'verl':
      return formatVerl;
    case 'skyrl':
      return formatSkyrl;
    case 'verifiers':
      return (trajectory) => [formatVerifiers(trajectory)];
    case 'slime': {
      const slime = new SlimeFormat();
      return (trajectory) => slime.format(trajectory);
    }
  }
}

/** Whether a trainer can learn from it: it has a reward, and every turn its exact tokens with log-probabilities. */
export function canTrain({ reward, turns, segments }: Pick<Trajectory, 'reward' | 'turns' | 'segments'>): boolean {
  return (
    reward !== null &&
    turns.length > 0 &&
    turns.every(({ tokens }) => tokens !== null) &&
    segments.every(({ logprobs }) => logprobs !== null)
  );
}
