import type { Ending, Evidence } from '../../agents/verification/evidence.ts';
import type { TakenVerdict } from '../../app/grading/task-grader.ts';
import { alignColumns } from './columns.ts';

/** Lines of output that are shown of a stage that failed. */
const SHOWN_LINES = 12;

/** A verdict for people: the reward, each stage, and what is known of one that failed. */
export function formatTakenVerdict({ task, seed, verdict }: TakenVerdict): readonly string[] {
  const { reward, problem, stages, components, evidence } = verdict;
  const failed = stages.find(({ outcome }) => outcome === 'failed' || outcome === 'infrastructure');
  return [
    reward === null ? `no reward: ${problem?.detail ?? 'unknown'}` : `reward ${Number(reward.toFixed(4))}`,
    '',
    ...alignColumns(stages.map(({ stage, outcome, detail }) => [stage, outcome, detail])),
    ...(components.length > 1
      ? ['', ...alignColumns(components.map(({ name, weight, score }) => [name, `weight ${weight}`, scoreText(score)]))]
      : []),
    ...(failed ? findOutput(evidence.filter(({ stage }) => stage === failed.stage)) : []),
    '',
    `task ${task.id}, step ${task.step}, ${task.digest}`,
    `seed ${seed}`,
  ];
}

function scoreText(score: number | null): string {
  return score === null ? 'not measured' : score.toFixed(4);
}

function findOutput(evidence: readonly Evidence[]): readonly string[] {
  const lines = evidence.flatMap((one) => ('output' in one ? [one.output] : 'runs' in one ? one.runs.map(({ output }) => output) : []));
  const shown = lines.join('\n').trim().split('\n').slice(-SHOWN_LINES);
  const endings = evidence.flatMap((one) => ('ending' in one ? [formatEnding(one.ending)] : []));
  return shown.join('') === ''
    ? []
    : ['', `what it printed last (${endings.join(', ') || 'see --json for all'}):`, ...shown.map((line) => `  ${line}`)];
}

function formatEnding(ending: Ending): string {
  switch (ending.kind) {
    case 'exited':
      return `it ended with status ${ending.code}`;
    case 'signal':
      return `it was ended by ${ending.signal}`;
    case 'timeout':
      return 'it did not end in time';
    case 'out-of-memory':
      return 'it took more memory than it may';
    case 'output-too-large':
      return 'it printed more than it may';
    case 'no-output':
      return ending.detail;
  }
}
