/** Names of the ways to compute a group's advantages from its rewards. */
export const ADVANTAGES = ['grpo', 'dr-grpo', 'rloo', 'raw'] as const;

/**
 * grpo: (r − mean) ÷ (std + 1e-6), Shao et al. 2024; `ddof` 1 divides the squares by n − 1, as torch.std does, 0 by n. dr-grpo: r − mean, Liu et al.
 * 2025. rloo: n ÷ (n − 1) · (r − mean), the distance to the mean of the others, Ahmadian et al. 2024. raw: r.
 */
export type AdvantageTerms =
  { readonly kind: 'grpo'; readonly ddof: 0 | 1 } | { readonly kind: Exclude<(typeof ADVANTAGES)[number], 'grpo'> };

export interface GroupMember {
  /** The tests' result, before shaping. It is null when there is no verdict: the trajectory is void. */
  readonly core: number | null;
  /** The reward with shaping. It is null when there is no verdict. */
  readonly reward: number | null;
  /** Whether its tokens are left out of the loss: it was cut off or cancelled, and says nothing about the others. */
  readonly isMasked: boolean;
}

export interface GroupAdvantages {
  /** One value for each member; null for a member that does not count in the group. */
  readonly advantages: readonly (number | null)[];
  /** Members that have a part in it: the n of the formulas. */
  readonly size: number;
  /** The mean of their rewards; null when there is none. */
  readonly mean: number | null;
  /**
   * Why nothing can be learned from it. no-reward: no member counts. zero-variance: the core rewards are all equal; shaping then only adds noise,
   * which division by its own standard deviation would make as large as a signal.
   */
  readonly filtered: 'no-reward' | 'zero-variance' | null;
}

/** Keeps a quotient finite where rewards differ by nearly nothing. */
const EPSILON = 1e-6;

/** A group with one counting member has its raw reward as the advantage: there is nothing to compare it with. */
export function computeAdvantages(members: readonly GroupMember[], terms: AdvantageTerms): GroupAdvantages {
  const counted = members.filter(isCounted);
  const rewards = counted.map(({ reward }) => reward);
  const mean = rewards.length === 0 ? null : computeMean(rewards);
  const advantages = members.map((member) =>
    isCounted(member) && mean !== null ? getAdvantage(member.reward, rewards, mean, terms) : null,
  );
  return { advantages, size: counted.length, mean, filtered: chooseFilter(counted) };
}

interface CountedMember extends GroupMember {
  readonly core: number;
  readonly reward: number;
}

function isCounted(member: GroupMember): member is CountedMember {
  return !member.isMasked && member.reward !== null && member.core !== null;
}

function chooseFilter(counted: readonly CountedMember[]): GroupAdvantages['filtered'] {
  const [first, ...others] = counted;
  if (first === undefined) return 'no-reward';
  if (others.length === 0) return null;
  return others.every(({ core }) => core === first.core) ? 'zero-variance' : null;
}

function getAdvantage(reward: number, rewards: readonly number[], mean: number, terms: AdvantageTerms): number {
  const n = rewards.length;
  if (n === 1) return reward;
  switch (terms.kind) {
    case 'grpo':
      return (reward - mean) / (computeDeviation(rewards, mean, terms.ddof) + EPSILON);
    case 'dr-grpo':
      return reward - mean;
    case 'rloo':
      return (n / (n - 1)) * (reward - mean);
    case 'raw':
      return reward;
  }
}

function computeMean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function computeDeviation(values: readonly number[], mean: number, ddof: 0 | 1): number {
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - ddof));
}
