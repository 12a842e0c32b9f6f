import type { Soundness, Trial } from '../../agents/grading/soundness.ts';
import { columns } from './columns.ts';

/** What `muster task check` prints of a task. */
export function soundnessLines({ task, digest, isSound, trials, notices }: Soundness): readonly string[] {
  return [
    `${task}: ${isSound ? 'sound' : 'not sound'}`,
    '',
    ...columns(trials.map((trial) => [trial.role, trial.name, rewardText(trial.rewards), findingText(trial)])).map((line) => `  ${line}`),
    ...trials.filter(({ detail }) => detail !== '').map(({ role, name, detail }) => `  ${role} ${name}: ${detail}`),
    ...notices.map((notice) => `  note: ${notice}`),
    `  ${digest}`,
  ];
}

function rewardText(rewards: readonly (number | null)[]): string {
  const distinct = [...new Set(rewards)].map((reward) => (reward === null ? 'none' : `${Number(reward.toFixed(4))}`));
  return `${distinct.join(', ')}${rewards.length > 1 ? ` (${rewards.length} times)` : ''}`;
}

function findingText({ finding, expected }: Trial): string {
  switch (finding) {
    case 'as-expected':
      return '';
    case 'wrong':
      return `expected ${expected}`;
    case 'flaky':
      return `flaky: expected ${expected} each time`;
    case 'unknown':
      return 'no reward: the infrastructure failed';
  }
}
