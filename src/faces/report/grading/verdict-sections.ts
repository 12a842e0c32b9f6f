import type {
  CasesEvidence,
  CompareEvidence,
  ConstraintsEvidence,
  Evidence,
  SuiteEvidence,
} from '../../../agents/verification/evidence.ts';
import type { Verdict } from '../../../agents/verification/verdict.ts';
import { markup, type Content, type Markup } from '../text/markup.ts';
import { count, renderData, renderDuration, NONE } from '../text/numbers.ts';
import { renderFigureTable } from '../text/rows.ts';
import { renderCaseTable, renderDifferences, renderFailedRuns, renderPrinted } from './case-evidence.ts';
import type { GradedSubmission } from './graded-submission.ts';
import { formatCommandEnding, renderStageBadge } from './outcome-badge.ts';

/** The limit for tests and for turns; the others are in the document. */
const MOST_LISTED = 500;

/** Renders the reward, each stage, and its evidence. @param source path of the submission in the document, with a final dot. */
export function renderVerdictSections({ task, seed, verdict }: GradedSubmission, source: string): Markup {
  const { stages, evidence } = verdict;
  return markup`${renderAnswer(verdict, source)}
<section class="card"><h3>Stages</h3>
<table class="stages"><tbody>${stages.map(({ stage, outcome, detail }) => markup`<tr><th scope="row">${stage}</th><td class="words">${renderStageBadge(outcome)}</td><td class="words"><bdi>${detail}</bdi></td></tr>`)}</tbody></table></section>
${renderComponentCard(verdict)}
${evidence.map((one, at) => renderEvidenceCard(one, evidence, `${source}verdict.evidence.${at}`))}
<section class="card"><h3>What it takes to take it again</h3>
${renderFigureTable([
  {
    title: 'Verdict',
    rows: [
      { name: 'Task', value: markup`<bdi>${task.id}</bdi>, step <bdi>${task.step}</bdi>` },
      { name: 'Digest of the task', value: markup`<code>${task.digest}</code>` },
      {
        name: 'Digest of the verifier',
        value: markup`<code>${verdict.verifierDigest}</code>`,
        note: 'stages, tests, and the code that judged',
      },
      { name: 'Seed', value: markup`<code>${seed}</code>`, note: 'of hidden cases and of those that are repeated' },
    ],
  },
])}</section>`;
}

function renderAnswer({ reward, problem, gate }: Verdict, source: string): Markup {
  const why =
    problem === null
      ? undefined
      : markup`<p><bdi>${problem.kind === 'verifier' ? 'The verifier is broken' : 'The infrastructure failed'}: ${problem.detail}</bdi></p>`;
  return markup`<section class="card answer"><div><p class="label">Reward</p><p class="headline">${renderReward(reward, `${source}verdict.reward`)}</p>${why}</div>
<dl><div><dt>Gate</dt><dd>${gate === 1 ? 'open' : 'closed: the reward is 0 whatever was measured'}</dd></div></dl></section>`;
}

export function renderReward(reward: number | null, source?: string): Markup {
  return reward === null ? NONE : renderData(reward, `${Number(reward.toFixed(4))}`, source);
}

function renderComponentCard({ components }: Verdict): Markup | undefined {
  if (components.length < 2) return undefined;
  return markup`<section class="card"><h3>Components</h3>
<table><thead><tr><th scope="col">Component</th><th scope="col">Weight</th><th scope="col">Score</th></tr></thead>
<tbody>${components.map(({ name, weight, score }) => markup`<tr><th scope="row">${name}</th><td>${renderData(weight, `${weight}`)}</td><td>${renderReward(score)}</td></tr>`)}</tbody></table>
<p>The reward is gate · Σ weight · score. Speed and efficiency count only where every case is right.</p></section>`;
}

function renderEvidenceCard(one: Evidence, all: readonly Evidence[], source: string): Content {
  if ('kind' in one && one.kind === 'infrastructure') return renderCard(`${one.stage}: not carried out`, renderPrinted(one.reason));
  switch (one.stage) {
    case 'submission':
      return undefined;
    case 'compile':
      return renderCard(
        'Compile',
        markup`<p><bdi>${formatCommandEnding(one.ending)}</bdi>, ${renderDuration(one.seconds, `${source}.seconds`)}</p>${renderPrinted(one.output)}`,
      );
    case 'execute':
      return judgeExecuted(
        one,
        all.find((found): found is CompareEvidence => found.stage === 'compare' && 'cases' in found),
        source,
      );
    case 'compare':
      return renderDifferences(one);
    case 'constraints':
      return renderConstraintCard(one);
    case 'score':
      return scoreCard(one);
  }
}

type Measured = Exclude<Extract<Evidence, { readonly stage: 'score' }>, { readonly kind: 'infrastructure' }>;

function scoreCard(one: Measured): Markup {
  const wrong = one.wrong === null ? undefined : markup`<p><bdi>${one.wrong}</bdi></p>`;
  if (one.kind === 'efficiency')
    return renderCard(
      'Efficiency',
      markup`<p>${one.measure}: golden model ${renderData(one.golden, `${one.golden}`)}, candidate ${renderData(one.candidate, `${one.candidate}`)}.</p>${wrong}`,
    );
  const { ratio, low, high, pairs, turns } = one;
  const rows = turns
    .slice(0, MOST_LISTED)
    .map(
      ({ name, golden, candidate }) =>
        markup`<tr><th scope="row"><bdi>${name}</bdi></th><td>${renderDuration(golden)}</td><td>${renderDuration(candidate)}</td></tr>`,
    );
  return renderCard(
    'Speed',
    markup`<p>The golden model took ${renderData(ratio, ratio.toFixed(3))} times as long as the candidate, in ${count(pairs)} pairs; interval [${renderData(low, low.toFixed(3))}, ${renderData(high, high.toFixed(3))}] at 95 %.</p>${wrong}
<div class="scroll tall" tabindex="0"><table><thead><tr><th scope="col">Case</th><th scope="col">Golden model</th><th scope="col">Candidate</th></tr></thead><tbody>${rows}</tbody></table></div>`,
  );
}

type Executed = Exclude<Extract<Evidence, { readonly stage: 'execute' }>, { readonly kind: 'infrastructure' }>;

function judgeExecuted(one: Executed, compared: CompareEvidence | undefined, source: string): Content {
  switch (one.kind) {
    case 'cases':
      return renderCasesCards(one, compared, source);
    case 'script':
      return renderCard(
        'tests/test.sh',
        markup`<p><bdi>${formatCommandEnding(one.ending)}</bdi>, ${renderDuration(one.seconds)}; reward.json ${renderGiven(one.rewardJson)}, reward.txt ${renderGiven(one.rewardText)}</p>${renderPrinted(one.output)}`,
      );
    case 'suite':
      return one.runs.map((run) => renderSuiteCard(run));
  }
}

function renderCasesCards(one: CasesEvidence, compared: CompareEvidence | undefined, source: string): Content {
  return [renderCaseTable(one, compared, source), renderFailedRuns(one)];
}

function renderGiven(text: string | null): Content {
  return text === null ? 'none' : markup`<code>${text.trim().slice(0, 200)}</code>`;
}

function renderSuiteCard({ order, ending, results, problem, output, seconds }: SuiteEvidence['runs'][number]): Markup {
  const sorted = results.toSorted((a, b) => Number(a.status === 'passed') - Number(b.status === 'passed'));
  const rows = sorted
    .slice(0, MOST_LISTED)
    .map(({ id, status }) => markup`<tr><th scope="row"><bdi>${id}</bdi></th><td class="words">${status}</td></tr>`);
  return renderCard(
    `Tests, ${order}`,
    markup`<p><bdi>${formatCommandEnding(ending)}</bdi>, ${renderDuration(seconds)}, ${count(results.length)} tests${problem === null ? undefined : markup`; <bdi>${problem}</bdi>`}</p>
<div class="scroll tall" tabindex="0"><table><thead><tr><th scope="col">Test</th><th scope="col" class="words">Status</th></tr></thead><tbody>${rows}</tbody></table></div>${renderPrinted(output)}`,
  );
}

function renderConstraintCard({ measured }: ConstraintsEvidence): Markup {
  const rows = measured.map(
    (one) =>
      markup`<tr><th scope="row">${one.measure}${one.of === null ? undefined : markup` of <bdi>${one.of}</bdi>`}</th><td>${'value' in one ? (one.value === null ? NONE : renderData(one.value, `${one.value}`)) : formatFound(one.found)}</td></tr>`,
  );
  return renderCard(
    'Constraints',
    markup`<table><thead><tr><th scope="col">Measure</th><th scope="col">Found</th></tr></thead><tbody>${rows}</tbody></table>`,
  );
}

function formatFound(found: readonly string[] | null): Content {
  if (found === null) return NONE;
  return found.length === 0 ? 'nothing that is forbidden' : markup`<bdi>${found.join(', ')}</bdi>`;
}

function renderCard(title: string, content: Content): Markup {
  return markup`<section class="card"><h3>${title}</h3>
${content}</section>`;
}
