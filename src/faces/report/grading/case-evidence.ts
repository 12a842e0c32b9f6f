import { diffWordsWithSpace } from 'diff';
import type { CasesEvidence, CompareEvidence } from '../../../agents/verification/evidence.ts';
import { formatBytes } from '../../../kernel/text/figures.ts';
import { type Content, markup, type Markup } from '../text/markup.ts';
import { count, NONE, renderData, renderDuration } from '../text/numbers.ts';
import { formatCommandEnding, renderEqualityBadge } from './outcome-badge.ts';

type Case = CasesEvidence['cases'][number];
type Run = Case['runs'][number];

/** The largest number of rows of one verdict. Further ones are in the document. */
const MOST_ROWS = 500;
const MOST_DIFFERENCES = 20;

/** Renders every run of the candidate: how it ended, whether its output is right, what it cost. */
export function renderCaseTable({ cases, seed }: CasesEvidence, compared: CompareEvidence | undefined, source: string): Markup {
  const equal = new Map(compared?.cases.map(({ name, run, isEqual }) => [`${run} ${name}`, isEqual]));
  const rows = cases.flatMap((one, position) =>
    one.runs.map((run, at) => ({ one, run, at, source: `${source}.cases.${position}.runs.${at}` })),
  );
  const left = rows.length - MOST_ROWS;
  return markup`<section class="card"><h3>Cases</h3>
<div class="scroll tall" tabindex="0"><table><thead><tr><th scope="col">Case</th><th scope="col" class="words">Ended</th><th scope="col" class="words">Output</th><th scope="col">Size</th><th scope="col">Time</th><th scope="col">Memory</th></tr></thead>
<tbody>${rows.slice(0, MOST_ROWS).map((row) => renderCaseRow(row, equal.get(`${row.at} ${row.one.name}`)))}</tbody></table></div>
${left > 0 ? markup`<p>${count(left)} more runs are in the document that --json prints.</p>` : undefined}
<p>Seed <code>${seed}</code>: with it the same cases are drawn again.</p></section>`;
}

interface RunRow {
  readonly one: Case;
  readonly run: Run;
  readonly at: number;
  readonly source: string;
}

function renderCaseRow({ one: { name, isVisible, runs }, run, at, source }: RunRow, isEqual: boolean | undefined): Markup {
  const which = runs.length > 1 ? ` (run ${at + 1})` : '';
  return markup`<tr><th scope="row"><bdi>${name}</bdi>${which}${isVisible ? markup` <span class="none">shown to the agent</span>` : undefined}</th><td class="words"><bdi>${formatCommandEnding(run.ending)}</bdi></td><td class="words">${isEqual === undefined ? NONE : renderEqualityBadge(isEqual)}</td><td>${renderBytes(run.outputBytes, `${source}.outputBytes`)}</td><td>${renderDuration(run.seconds, `${source}.seconds`)}</td><td>${run.peakBytes === null ? NONE : renderBytes(run.peakBytes, `${source}.peakBytes`)}</td></tr>
`;
}

function renderBytes(value: number, source: string): Markup {
  return renderData(value, formatBytes(value), source);
}

/** Renders the candidate's unexpected output, and its error output. */
export function renderDifferences({ cases }: CompareEvidence): Markup | undefined {
  const unequal = cases.filter(({ isEqual }) => !isEqual);
  if (unequal.length === 0) return undefined;
  return markup`<section class="card"><h3>Outputs that differ</h3>
<ul class="errors">${unequal.slice(0, MOST_DIFFERENCES).map(
    ({ name, run, difference, outputs }) =>
      markup`<li><p><b><bdi>${name}</bdi></b>${run > 0 ? ` (run ${run + 1})` : ''}: <bdi>${difference ?? 'another output'}</bdi></p>${outputs && renderOutputDifference(outputs)}</li>
`,
  )}</ul>${renderMore(unequal.length - MOST_DIFFERENCES)}</section>`;
}

/** Renders the last words of runs that did not end as they should. */
export function renderFailedRuns({ cases }: CasesEvidence): Markup | undefined {
  const failed = cases.flatMap(({ name, runs }) => runs.filter(hasFailed).map((run) => ({ name, run })));
  if (failed.length === 0) return undefined;
  return markup`<section class="card"><h3>Runs that failed</h3>
<ul class="errors">${failed.slice(0, MOST_DIFFERENCES).map(
    ({ name, run }) =>
      markup`<li><p><b><bdi>${name}</bdi></b>: <bdi>${formatCommandEnding(run.ending)}</bdi></p>${renderPrinted(run.errors)}</li>
`,
  )}</ul>${renderMore(failed.length - MOST_DIFFERENCES)}</section>`;
}

function hasFailed({ ending }: Run): boolean {
  return ending.kind !== 'exited' || ending.code !== 0;
}

/** Renders text that a program has printed; nothing where there is none. */
export function renderPrinted(text: string): Markup | undefined {
  return text.trim() === '' ? undefined : markup`<pre tabindex="0"><bdi>${text}</bdi></pre>`;
}

function renderMore(left: number): Content {
  return left > 0 ? markup`<p>${count(left)} more.</p>` : undefined;
}

/** The largest number of changes that are searched; texts that differ more are shown without marks. */
const MOST_CHANGES = 400;

interface Outputs {
  readonly expected: string;
  readonly got: string;
}

/** Renders two outputs side by side; the parts that only one of them has are marked. */
function renderOutputDifference({ expected, got }: Outputs): Markup {
  const parts = diffWordsWithSpace(expected, got, { maxEditLength: MOST_CHANGES }) ?? [
    { value: expected, removed: true, added: false },
    { value: got, removed: false, added: true },
  ];
  const wanted = parts.map(({ value, removed, added }) => (added ? undefined : removed ? markup`<del>${value}</del>` : value));
  const found = parts.map(({ value, removed, added }) => (removed ? undefined : added ? markup`<ins>${value}</ins>` : value));
  return markup`<div class="outputs"><figure><figcaption>Expected</figcaption><pre tabindex="0"><bdi>${wanted}</bdi></pre></figure>
<figure><figcaption>Got</figcaption><pre tabindex="0"><bdi>${found}</bdi></pre></figure></div>`;
}
