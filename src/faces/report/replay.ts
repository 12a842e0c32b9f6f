import type { ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import { formatCount } from '../../kernel/text/figures.ts';
import { formatOutcome } from '../../orchestrator/replay/outcome-text.ts';
import { markup, type Markup } from './text/markup.ts';
import { line } from 'd3-shape';
import { renderChart } from './charts/chart.ts';
import { computeDomain, createAcrossScale, createUpScale, renderPlot } from './charts/plot.ts';

/** More points than this cannot be distinguished. */
const MOST_POINTS = 2000;

/** Renders an episode that was played again: outcome, reward by step, and a strip of pictures. */
export function renderReplay(replay: ReplayDocument): Markup {
  const { recorded, replayed, isSame, pictures, remarks, log } = replay;
  return markup`<section class="card"><h2>Outcome</h2>
<p><span class="state ${isSame ? 'good' : 'caution'}">${isSame ? 'the same' : 'not deterministic'}</span></p>
<table><tbody>
<tr><th scope="row">in the evaluation</th><td>${formatOutcome(recorded)}</td></tr>
<tr><th scope="row">played again</th><td>${formatOutcome(replayed)}</td></tr>
</tbody></table>
${isSame ? undefined : markup`<p>The same task, seeds and checkpoint came to another outcome: environment or policy draw from something that no seed decides.</p>`}
</section>
${drawRewards(replay)}
<section class="card"><h2>Pictures</h2>
${remarks.map((remark) => markup`<p class="note">${remark}</p>`)}
${pictures.length > 0 ? renderStrip(pictures) : markup`<p class="none">There are none.</p>`}
</section>
${log === undefined ? undefined : markup`<section class="card"><h2>Output</h2><pre>${log}</pre></section>`}`;
}

function renderStrip(pictures: ReplayDocument['pictures']): Markup {
  const frames = pictures.map(
    ({ step, png }) =>
      markup`<li><img alt="after step ${step}" src="data:image/png;base64,${png}"><span>${step === 0 ? 'reset' : `step ${formatCount(step)}`}</span></li>`,
  );
  return markup`<ol class="strip-of-pictures">${frames}</ol>`;
}

function drawRewards({ rewards }: ReplayDocument): Markup | undefined {
  if (rewards.length === 0) return undefined;
  const stride = Math.ceil(rewards.length / MOST_POINTS);
  const points = rewards.map((reward, position) => ({ step: position + 1, reward })).filter((_, position) => position % stride === 0);
  const extent = computeDomain(points.flatMap(({ reward }) => reward ?? []));
  if (extent === undefined) return undefined;
  const [x, y] = [createAcrossScale([0, rewards.length]), createUpScale(extent)];
  const path = line<(typeof points)[number]>()
    .digits(1)
    .defined(({ reward }) => reward !== null)
    .x(({ step }) => x(step))
    .y(({ reward }) => y(reward ?? 0));
  return renderChart({
    title: 'Reward by step',
    ...(stride > 1 ? { note: `Every ${stride}th step is drawn.` } : {}),
    drawing: renderPlot({
      x: { scale: x, label: 'steps', whole: true },
      y: { scale: y, label: 'reward' },
      marks: markup`<path class="estimate" d="${path(points) ?? ''}"/>`,
      alternative: `The reward of each of ${formatCount(rewards.length)} steps.`,
    }),
    absent: '',
    legend: [],
  });
}
