/** A group that could have further members. */
export interface GrowingGroup {
  /** Members with a verdict. */
  readonly size: number;
  /** Sum of their core rewards, each in [0, 1]. */
  readonly rewards: number;
}

/**
 * Divides further trajectories between groups: first to those whose rewards are estimated to vary most, p(1 − p), each up to `most` members. p is the
 * mean of the rewards with one success and one failure added, so that a group of few members is not dismissed.
 *
 * @returns for each group, how many members it gets.
 */
export function growGroups(groups: readonly GrowingGroup[], budget: number, most: number): readonly number[] {
  const grown = groups.map(() => 0);
  const order = groups
    .map((group, position) => ({ position, variance: estimateVariance(group), room: Math.max(0, most - group.size) }))
    .sort((a, b) => b.variance - a.variance || a.position - b.position);
  let left = budget;
  for (const { position, room } of order) {
    const given = Math.min(room, left);
    grown[position] = given;
    left -= given;
  }
  return grown;
}

export function estimateVariance({ size, rewards }: GrowingGroup): number {
  const p = (rewards + 1) / (size + 2);
  return p * (1 - p);
}
