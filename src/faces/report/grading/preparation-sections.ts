import type { Preparation, PreparedCandidate } from '../../../agents/preparation/preparation-report.ts';
import { PREPARATION_STEPS } from '../../../agents/preparation/source/steps.ts';
import { markup, type Content, type Markup } from '../text/markup.ts';
import { count, renderDuration, NONE } from '../text/numbers.ts';
import { renderWarningList } from '../text/warnings.ts';
import { renderSoundBadge } from './outcome-badge.ts';

/** Renders what a curator reads: how many candidates each step refused, and each candidate with its evidence. */
export function renderPreparation(preparation: Preparation): Markup {
  const { candidates, notices, seconds, proof } = preparation;
  return markup`${renderWarningList(notices)}
<section class="card"><h2>What became of the candidates</h2>
<p class="line">${renderDuration(seconds, 'seconds')}; licence <bdi>${preparation.licence ?? 'not known'}</bdi>; at <code>${preparation.head ?? 'no commit'}</code></p>
${proof.map(({ agent, episodes, mean, isAsExpected }, at) => markup`<p class="line">The agent ${agent} scored ${mean === null ? NONE : count(mean, `proof.${at}.mean`)} in ${count(episodes, `proof.${at}.episodes`)} episodes of all tasks${isAsExpected ? undefined : mean === null ? ': the infrastructure failed' : ': they are not sound'}</p>`)}
<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Step</th><th scope="col">Came to it</th><th scope="col">Refused</th></tr></thead>
<tbody>${renderStepRows(preparation)}</tbody></table></div></section>
<section class="card"><h2>Candidates</h2>
<div class="scroll wide" tabindex="0"><table><thead><tr><th scope="col">Candidate</th><th scope="col" class="words">Change</th><th scope="col" class="words">End</th><th scope="col">F2P</th><th scope="col">P2P</th><th scope="col">Tripwires</th><th scope="col">Runs of each test</th><th scope="col">Tests took</th></tr></thead>
<tbody>${candidates.map(renderCandidateRow)}</tbody></table></div></section>
${candidates.map(renderEvidenceSection)}`;
}

function renderStepRows({ candidates, refusedBy }: Preparation): readonly Markup[] {
  let left = candidates.length;
  return PREPARATION_STEPS.map((step) => {
    const refused = refusedBy[step] ?? 0;
    const row = markup`<tr><th scope="row">${step}</th><td>${count(left)}</td><td>${refused === 0 ? NONE : count(refused, `refusedBy.${step}`)}</td></tr>
`;
    left -= refused;
    return row;
  });
}

function renderCandidateRow(candidate: PreparedCandidate, at: number): Markup {
  const { id, title, evidence } = candidate;
  const { failToPass, passToPass, tripwires, repeatedRuns, testSeconds } = evidence;
  const source = `candidates.${at}.evidence`;
  const renderFigure = (value: number | undefined, key: string): Content => (value === undefined ? NONE : count(value, `${source}.${key}`));
  return markup`<tr><th scope="row"><code>${id}</code></th><td class="words"><bdi>${title}</bdi></td><td class="words">${renderEnd(candidate)}</td><td>${failToPass === undefined ? NONE : count(failToPass.length)}</td><td>${renderFigure(passToPass, 'passToPass')}</td><td>${renderFigure(tripwires, 'tripwires')}</td><td>${renderFigure(repeatedRuns, 'repeatedRuns')}</td><td>${testSeconds === undefined ? NONE : renderDuration(testSeconds)}</td></tr>
`;
}

function renderEnd({ refusal, void: reason }: PreparedCandidate): Content {
  if (reason !== null) return markup`void: <bdi>${reason}</bdi>`;
  return refusal === null ? renderSoundBadge(true) : markup`${refusal.step}: <bdi>${refusal.reason}</bdi>`;
}

function describeInstruction({ instruction }: PreparedCandidate['evidence']): readonly string[] {
  if (instruction?.source === 'model') return ['a model: the message of the commit says nothing'];
  if (instruction?.source !== 'issue') return [];
  return [`the text of ${(instruction.issues ?? []).map((number) => `issue ${number}`).join(', ')}`];
}

/** Lists only candidates with further evidence. */
function renderEvidenceSection({ id, task, evidence }: PreparedCandidate): Markup | undefined {
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['Tests that have to begin to pass', evidence.failToPass ?? []],
    [
      'Tests that did not come out the same each time',
      (evidence.wavering ?? []).map((each) => `${each.id} (${each.cause}): ${each.figure}`),
    ],
    ['Tests that want a network or a service', evidence.needNetwork ?? []],
    ['Where the fix was found', evidence.leaks ?? []],
    ['Where the instruction comes from', describeInstruction(evidence)],
    ['Lines that the instruction leaves out', evidence.instruction?.leftOut ?? []],
    [
      'Submissions of the task, and what they scored',
      (evidence.soundness?.trials ?? []).map(
        ({ role, name, rewards }) => `${role} ${name}: ${rewards.map((reward) => reward ?? 'none').join(', ')}`,
      ),
    ],
  ];
  const filled = lists.filter(([, items]) => items.length > 0);
  if (filled.length === 0) return undefined;
  return markup`<section class="card"><h3><code>${id}</code> ${task === null ? undefined : markup`<bdi>${task.id}</bdi>`}</h3>
${task === null ? undefined : markup`<p class="line"><code>${task.digest}</code></p>`}
${filled.map(([title, items]) => markup`<h4>${title}</h4><ul>${items.map((item) => markup`<li><bdi>${item}</bdi></li>`)}</ul>`)}</section>
`;
}
