import type { CandidateStatistics } from '../../aggregation/comparison/comparison-statistics.ts';
import type { NamedCandidate } from './candidate.ts';
import { stripCell, stripHead, stripScale } from './charts/interval-strip.ts';
import type { Strip } from './charts/interval-strip.ts';
import { markup } from './text/markup.ts';
import type { Markup } from './text/markup.ts';
import { count, ends, figure, NONE, share, spreadOf } from './text/numbers.ts';
import type { Scale } from './charts/plot.ts';
import { verdictBadge } from './text/verdict.ts';

/** All candidates on one scale, in the order given. */
export function candidateTable(candidates: readonly NamedCandidate[], margin: number): Markup {
  const scale = stripScale(
    candidates.map(({ statistics }) => stripOf(statistics)),
    [-margin, 0, margin],
  );
  return markup`<section class="card"><h2>Candidates</h2>
<p>The greatest difference first, each with its interval; the line through all of them is no difference.</p>
<div class="scroll wide" role="region" aria-label="Candidates" tabindex="0"><table>
<thead><tr><th scope="col">Candidate</th><th scope="col">Difference</th><th scope="col" class="picture">${scale && stripHead(scale)}</th><th scope="col">Interval</th><th scope="col">P(improvement)</th><th scope="col">Pairs</th><th scope="col">Verdict</th></tr></thead>
<tbody>${candidates.map((candidate) => candidateRow(candidate, scale))}</tbody></table></div></section>`;
}

function candidateRow({ statistics, name }: NamedCandidate, scale: Scale | undefined): Markup {
  const { difference, interval, probabilityOfImprovement, pairs, verdict } = statistics;
  const spread = spreadOf(interval, difference);
  return markup`<tr><th scope="row"><bdi>${name}</bdi></th><td>${figure(difference, spread)}</td><td class="picture">${scale && stripCell(stripOf(statistics), scale, 0)}</td><td>${interval ? ends(interval, spread) : NONE}</td><td>${probabilityOfImprovement ? share(probabilityOfImprovement.value) : NONE}</td><td>${count(pairs)}</td><td>${verdictBadge(verdict)}</td></tr>
`;
}

function stripOf({ difference, interval }: CandidateStatistics): Strip {
  return { value: difference, low: interval?.low ?? null, high: interval?.high ?? null };
}
