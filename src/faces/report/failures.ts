import { FAILURE_CAUSES } from '../../kernel/outcome.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { markup, type Content, type Markup } from './text/markup.ts';
import { count, renderEnds, renderShare, computeSpread } from './text/numbers.ts';
import { formatCause } from './text/wording.ts';

type Official = Summary['official'];

/** Whether failures need more than a sentence. */
export function hasFailed({ failures, unresolved }: Official): boolean {
  return unresolved > 0 || FAILURE_CAUSES.some((cause) => failures[cause] > 0);
}

/** Lists the failed episodes, and how much the missing ones could change at most. */
export function renderFailures(official: Official, run: Summary['run'], source: string): Markup {
  return markup`<section class="card"><h3>Failed and unresolved episodes</h3>
${renderFailureTable(official, source)}
${renderErrorList(run)}
${renderUnresolvedNote(official, source)}</section>`;
}

/** Renders how many failed by which cause, for a cell of a table. */
export function renderFailed(failures: Official['failures'], source: string): Content {
  const causes = FAILURE_CAUSES.filter((cause) => failures[cause] > 0);
  if (causes.length === 0) return 'none';
  return causes.map((cause, i) => markup`${i === 0 ? undefined : ' · '}${count(failures[cause], `${source}.${cause}`)} ${cause}`);
}

function renderFailureTable({ failures, episodes, resolved, failedShare }: Official, source: string): Markup {
  if (episodes === 0) return markup`<p>No episode was played.</p>`;
  const causes = FAILURE_CAUSES.filter((cause) => failures[cause] > 0).sort((a, b) => failures[b] - failures[a]);
  if (causes.length === 0) return markup`<p>No episode failed.</p>`;
  const most = Math.max(...causes.map((cause) => failures[cause]));
  return markup`<table class="failures"><thead><tr><th scope="col">Cause</th><th scope="col">Episodes</th><th scope="col">Share</th><th scope="col" class="picture"></th></tr></thead>
<tbody>${causes.map(
    (cause) =>
      markup`<tr><th scope="row">${formatCause(cause)} <code>${cause}</code></th><td>${count(failures[cause], `${source}.failures.${cause}`)}</td><td>${renderShare(failures[cause] / Math.max(1, resolved))}</td><td class="picture"><svg class="strip-row" aria-hidden="true"><rect class="failed" width="${((failures[cause] / most) * 100).toFixed(1)}%" height="70%" y="15%"/></svg></td></tr>`,
  )}</tbody></table>
<p>${failedShare === null ? undefined : markup`${renderShare(failedShare, `${source}.failedShare`)} of ${count(resolved)} episodes failed. `}Each counts with the score of a failed episode.</p>`;
}

/** Renders the first distinct errors, each with what was raised and where. */
export function renderErrorList({ errors = [], otherErrors = 0 }: Summary['run']): Markup | undefined {
  if (errors.length === 0) return undefined;
  const others = otherErrors === 0 ? undefined : markup`<p>${count(otherErrors)} more failed with other errors.</p>`;
  return markup`<ul class="errors">${errors.map(
    ({ cause, episodes, firstIndex, detail }) =>
      markup`<li><p>${count(episodes)} × <code>${cause}</code>, first in episode ${count(firstIndex)}</p>${detail === '' ? undefined : markup`<pre tabindex="0"><bdi>${detail}</bdi></pre>`}</li>`,
  )}</ul>${others}`;
}

function renderUnresolvedNote({ unresolved, episodes, worstCase, mean, interval }: Official, source: string): Markup | undefined {
  if (episodes === 0) return undefined;
  if (unresolved === 0) return markup`<p>No episode is unresolved: none was lost for good to the infrastructure.</p>`;
  const lost = markup`${count(unresolved, `${source}.unresolved`)} of ${count(episodes)} episodes (${renderShare(unresolved / episodes)}) ${unresolved === 1 ? 'is' : 'are'} unresolved: lost for good to the infrastructure.`;
  if (worstCase === null) return markup`<p>${lost} Without bounds on the return, nothing is known about what they could have come to.</p>`;
  return markup`<p>${lost} With all of them at their lowest and at their highest return, the mean would be in ${renderEnds(worstCase, computeSpread(interval, mean), `${source}.worstCase`)}.</p>`;
}
