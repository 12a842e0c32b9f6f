import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { formatBytes, formatCount, formatDuration } from '../../../../kernel/text/figures.ts';
import type { SandboxTimelineDocument } from '../../../../orchestrator/facts/sandbox-timeline.ts';

type Lane = SandboxTimelineDocument['lanes'][number];

/** A person cannot read more rows. */
const MOST_SHOWN = 60;
/** Units of a picture, which is stretched to the width of its cell. */
const [WIDTH, HEIGHT] = [600, 18];
/** Shades of how busy a sandbox was: neighbours with the same shade are drawn as one. */
const SHADES = 4;

/** Seconds from the beginning of the evaluation: what the pictures show. It may have waited for its first sandbox. */
type Span = readonly [begin: number, end: number];

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly shade: number;
}

/**
 * Renders when each sandbox played: all on one scale of time, darker when busier, with a mark where episodes failed.
 *
 * @param isRest whether some episodes were played before this server resumed the evaluation.
 */
export function renderSandboxes(timeline: SandboxTimelineDocument, isRest: boolean): TemplateResult | typeof nothing {
  const { lanes, seconds } = timeline;
  if (lanes.length === 0) return nothing;
  const shown = lanes.slice(-MOST_SHOWN);
  const isCut = timeline.left > 0 || lanes.length > shown.length;
  const span: Span = [Math.min(...shown.map(({ from }) => from)), Math.max(...shown.map(({ until }) => until ?? seconds))];
  return html`<section class="card" aria-labelledby="sandboxes">
    <div class="head">
      <h2 id="sandboxes">Sandboxes</h2>
      <p class="muted">
        ${formatDuration(span[1] - span[0])} from left to right; the darker, the busier; red where episodes
        failed.${isCut ? ' Others are not shown.' : nothing}${isRest ? ' Episodes that were played earlier, or elsewhere, are not shown.' : nothing}
      </p>
    </div>
    <div class="scroll tall" tabindex="0" role="region" aria-label="Table of sandboxes">
      <table class="lanes">
        <thead>
          <tr>
            <th>Sandbox</th>
            <th class="picture">When it played</th>
            <th class="number">Episodes</th>
            <th class="number">Failed</th>
            <th class="number">Lost</th>
            <th class="number">Processor</th>
            <th class="number">Memory</th>
          </tr>
        </thead>
        <tbody>
          ${repeat(
            shown,
            ({ name }) => name,
            (lane) => renderLane(lane, timeline, span),
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** Renders a note for an evaluation that has begun, when this server does not have its timeline. */
export function renderForgottenSandboxes(): TemplateResult {
  return html`<section class="card empty" aria-labelledby="sandboxes">
    <h2 id="sandboxes">Sandboxes</h2>
    <p>
      This server keeps in memory which sandbox has played when, of the evaluations that it plays and of the last 50 that ended. It has
      nothing of this one: it was restarted since, has ended 50 others since, or did not play it. The episodes below say how many seconds
      each took.
    </p>
  </section>`;
}

function renderLane(lane: Lane, timeline: SandboxTimelineDocument, span: Span): TemplateResult {
  const { name, episodes, failed, lost, cpuSeconds, peakMemoryBytes } = lane;
  return html`<tr>
    <th scope="row"><code>${name}</code></th>
    <td class="picture">${renderPicture(lane, timeline, span)}</td>
    <td class="number">${formatCount(episodes)}</td>
    <td class="number">${formatCount(failed)}</td>
    <td class="number">${formatCount(lost)}</td>
    <td class="number">${cpuSeconds === null ? '–' : formatDuration(cpuSeconds)}</td>
    <td class="number">${peakMemoryBytes === null ? '–' : formatBytes(peakMemoryBytes)}</td>
  </tr>`;
}

function renderPicture(lane: Lane, { seconds, sliceSeconds }: SandboxTimelineDocument, [begin, end]: Span): TemplateResult {
  const { from, until, slices } = lane;
  const across = (second: number): number => (WIDTH * (Math.min(end, Math.max(begin, second)) - begin)) / (end - begin || 1);
  const bar = (kind: string, start: number, stop: number, [y, height]: readonly [number, number]): SVGTemplateResult =>
    svg`<rect class=${kind} x=${across(start).toFixed(1)} y=${y} width=${Math.max(1, across(stop) - across(start)).toFixed(1)} height=${height} />`;
  const first = Math.floor(from / sliceSeconds) * sliceSeconds;
  const at = (slice: number): number => first + slice * sliceSeconds;
  const failing = slices.flatMap(({ failed }, slice) => (failed > 0 ? [slice] : []));
  return html`<svg
    class="lane"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label=${describe(lane, seconds)}
  >
    ${bar('held', from, until ?? seconds, [7, 4])}
    ${joinSlices(slices).map(({ from: start, to, shade }) => bar(`busy-${shade}`, Math.max(from, at(start)), Math.min(until ?? seconds, at(to)), [2, 14]))}
    ${failing.map((slice) => bar('failing', at(slice), at(slice + 1), [HEIGHT - 4, 4]))}
  </svg>`;
}

/** Merges slices that are as busy as their neighbours. Idle ones are left out. */
function joinSlices(slices: Lane['slices']): readonly Stretch[] {
  const joined: Stretch[] = [];
  for (const [at, { busy }] of slices.entries()) {
    const shade = Math.ceil(busy * SHADES);
    const last = joined.at(-1);
    if (last?.to === at && last.shade === shade) joined[joined.length - 1] = { ...last, to: at + 1 };
    else joined.push({ from: at, to: at + 1, shade });
  }
  return joined.filter(({ shade }) => shade > 0);
}

function describe({ from, until, slices, episodes }: Lane, seconds: number): string {
  const busy = slices.length === 0 ? 0 : slices.reduce((sum, slice) => sum + slice.busy, 0) / slices.length;
  const stay = `from ${formatDuration(from)} ${until === null ? 'until now' : `to ${formatDuration(until)}`}`;
  return `Had ${stay} of ${formatDuration(seconds)}, busy for ${Math.round(100 * busy)} %, ${formatCount(episodes)} episodes.`;
}
