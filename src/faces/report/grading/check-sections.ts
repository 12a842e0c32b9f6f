import type { Trial } from '../../../agents/grading/soundness.ts';
import { markup, type Content, type Markup } from '../text/markup.ts';
import { count, formatQuantity, renderDuration, NONE } from '../text/numbers.ts';
import { renderWarningList } from '../text/warnings.ts';
import type { CheckedTask, GradedSubmission } from './graded-submission.ts';
import { renderFindingBadge, renderSoundBadge } from './outcome-badge.ts';
import { renderReward, renderVerdictSections } from './verdict-sections.ts';

/** Renders each task with its own submissions, and every unexpected verdict. */
export function renderCheckSections(tasks: readonly CheckedTask[]): Markup {
  return markup`${tasks.map((task, at) => renderTaskSection(task, `tasks.${at}.`))}`;
}

function renderTaskSection({ soundness: { task, digest, isSound, trials, notices }, submissions }: CheckedTask, source: string): Markup {
  const odd = trials.map((trial, at) => ({ trial, graded: submissions[at], at })).filter(({ trial }) => trial.finding !== 'as-expected');
  return markup`<section><h2><bdi>${task}</bdi> ${renderSoundBadge(isSound)}</h2>
<p class="line"><code>${digest}</code></p>
<section class="card"><h3>Submissions of the task</h3>
<div class="scroll wide" tabindex="0"><table><thead><tr><th scope="col">Submission</th><th scope="col" class="words">Role</th><th scope="col">Expected</th><th scope="col">Scored</th><th scope="col">Took</th><th scope="col" class="words">Finding</th><th scope="col" class="words">Reason</th></tr></thead>
<tbody>${trials.map((trial, at) => renderTrialRow(trial, submissions[at], `${source}soundness.trials.${at}`))}</tbody></table></div></section>
${renderWarningList(notices)}
${odd.map(({ trial, graded, at }) => graded && renderOddSection(trial, graded, `${source}submissions.${at}.`))}</section>
`;
}

function renderTrialRow(
  { name, role, expected, rewards, finding, detail }: Trial,
  graded: GradedSubmission | undefined,
  source: string,
): Markup {
  return markup`<tr><th scope="row"><bdi>${name}</bdi></th><td class="words">${role}</td><td>${count(expected, `${source}.expected`)}</td><td>${renderScored(rewards)}</td><td>${graded === undefined ? NONE : renderDuration(getSeconds(graded))}</td><td class="words">${renderFindingBadge(finding)}</td><td class="words"><bdi>${detail}</bdi></td></tr>
`;
}

function renderScored(rewards: readonly (number | null)[]): Content {
  const distinct = [...new Set(rewards)].flatMap((reward, at) => (at === 0 ? [renderReward(reward)] : [', ', renderReward(reward)]));
  return [...distinct, rewards.length > 1 ? ` (${formatQuantity(rewards.length, 'time')})` : ''];
}

function getSeconds({ verdict: { evidence } }: GradedSubmission): number {
  return evidence.reduce((sum, one) => {
    const runs = 'cases' in one && one.stage === 'execute' ? one.cases.flatMap(({ runs: each }) => each) : 'runs' in one ? one.runs : [];
    return sum + ('seconds' in one ? one.seconds : 0) + runs.reduce((all, { seconds }) => all + seconds, 0);
  }, 0);
}

function renderOddSection({ role, name }: Trial, graded: GradedSubmission, source: string): Markup {
  return markup`<section><h3>${role} <bdi>${name}</bdi></h3>
${renderVerdictSections(graded, source)}</section>`;
}
