import type { Soundness, Trial } from '../../agents/grading/soundness.ts';
import type { Hardening } from '../../app/grading/task-hardening.ts';
import { alignColumns } from './columns.ts';

/** Formats the output of `muster task check` for one task. */
export function formatSoundness({ task, digest, isSound, trials, notices }: Soundness): readonly string[] {
  return [
    `${task}: ${isSound ? 'sound' : 'not sound'}`,
    '',
    ...alignColumns(trials.map((trial) => [trial.role, trial.name, formatReward(trial.rewards), formatFinding(trial)])).map(
      (line) => `  ${line}`,
    ),
    ...trials.filter(({ detail }) => detail !== '').map(({ role, name, detail }) => `  ${role} ${name}: ${detail}`),
    ...notices.map((notice) => `  note: ${notice}`),
    `  ${digest}`,
  ];
}

/** Formats the output of `muster task harden`. */
export function formatHardening({ task, digest, directory, isKnown, trial }: Hardening): readonly string[] {
  const { role, rewards, detail } = trial;
  const should = role === 'cheat' ? 'has to score 0' : 'has to score 1';
  const next = trial.finding === 'as-expected' ? [] : ['', `Mend the verifier, then: muster task check ${formatDirectory(directory)}`];
  return [
    `${task}: ${isKnown ? 'has had' : 'has'} the ${role} ${directory}, which ${should}`,
    '',
    ...alignColumns([[role, trial.name, formatReward(rewards), formatFinding(trial)]]).map((line) => `  ${line}`),
    ...(detail === '' ? [] : [`  ${detail}`]),
    `  ${digest}`,
    ...next,
  ];
}

/** Returns the directory of a task, given that of one of its submissions. */
function formatDirectory(directory: string): string {
  return directory.split('/').slice(0, -2).join('/');
}

function formatReward(rewards: readonly (number | null)[]): string {
  const distinct = [...new Set(rewards)].map((reward) => (reward === null ? 'none' : `${Number(reward.toFixed(4))}`));
  return `${distinct.join(', ')}${rewards.length > 1 ? ` (${rewards.length} times)` : ''}`;
}

function formatFinding({ finding, expected }: Trial): string {
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
