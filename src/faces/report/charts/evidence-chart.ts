import { line } from 'd3-shape';
import type { CandidateStatistics, EvidencePoint } from '../../../aggregation/comparison/comparison-statistics.ts';
import { formatCount } from '../../../kernel/text/figures.ts';
import { renderChart } from './chart.ts';
import { markup, type Markup } from '../text/markup.ts';
import { count, renderData } from '../text/numbers.ts';
import { formatPercent, computeDomain, HEIGHT, renderPlot, round, createAcrossScale, createUpScale, WIDTH, type Scale } from './plot.ts';

/** Renders how the evidence in either direction grew, against the threshold that decides. */
export function renderEvidenceChart({ course, evidence }: CandidateStatistics, source: string): Markup {
  return renderChart({
    title: 'Evidence',
    note: 'In orders of magnitude: 0 says nothing, below 0 speaks against it. What reaches the line decides.',
    drawing: renderDrawing(course, evidence.needed),
    absent: 'There is no pair to draw.',
    legend: [
      {
        swatch: 'promote',
        text: markup`for “promote” ${renderData(evidence.promote, evidence.promote.toFixed(2), `${source}.evidence.promote`)}`,
      },
      {
        swatch: 'regress',
        text: markup`for “regress” ${renderData(evidence.regress, evidence.regress.toFixed(2), `${source}.evidence.regress`)}`,
      },
      { swatch: 'target', text: markup`decides ${renderData(evidence.needed, evidence.needed.toFixed(2), `${source}.evidence.needed`)}` },
    ],
    table: {
      source: `${source}.course`,
      columns: [
        { title: 'Pairs', member: 'pairs' },
        { title: 'log₁₀ E⁺ (promote)', member: 'promote' },
        { title: 'log₁₀ E⁻ (regress)', member: 'regress' },
      ],
      rows: course.map(
        ({ pairs, promote, regress }) =>
          markup`<tr><th scope="row">${count(pairs)}</th><td>${renderData(promote, promote.toFixed(2))}</td><td>${renderData(regress, regress.toFixed(2))}</td></tr>
`,
      ),
    },
  });
}

/** Evidence against a direction keeps falling while the other one rises: values further below than the threshold is above are not shown. */
function renderDrawing(course: readonly EvidencePoint[], needed: number): Markup | undefined {
  const last = course.at(-1);
  if (last === undefined) return undefined;
  const levels = course.flatMap(({ promote, regress }) => [promote, regress]).map((level) => Math.max(level, -needed));
  const extent = computeDomain([...levels, 0, needed]);
  if (extent === undefined) return undefined;
  const [x, y] = [createAcrossScale([0, last.pairs]), createUpScale(extent)];
  const marks = markup`<path class="level" d="M0,${round(y(0))}H${WIDTH}"/><path class="target" d="M0,${round(y(needed))}H${WIDTH}"/>${renderCurve(course, x, y, 'promote')}${renderCurve(course, x, y, 'regress')}${renderStrips(course, x)}`;
  return renderPlot({
    x: { scale: x, label: 'pairs', whole: true },
    y: { scale: y, label: 'log₁₀ of the evidence' },
    marks,
    above: markup`${endMark(last, x, y, 'promote', extent)}${endMark(last, x, y, 'regress', extent)}`,
    alternative: `After ${formatCount(last.pairs)} pairs the evidence is ${last.promote.toFixed(2)} for “promote” and ${last.regress.toFixed(2)} for “regress”, in orders of magnitude; ${needed.toFixed(2)} decides.`,
  });
}

type Direction = 'promote' | 'regress';

function renderCurve(course: readonly EvidencePoint[], x: Scale, y: Scale, direction: Direction): Markup {
  const start = { pairs: 0, promote: 0, regress: 0 };
  const path = line<Pick<EvidencePoint, 'pairs' | Direction>>()
    .digits(1)
    .x(({ pairs }) => x(pairs))
    .y((point) => y(point[direction]));
  return markup`<path class="${direction}" d="${path([start, ...course]) ?? ''}"/>`;
}

function endMark(last: EvidencePoint, x: Scale, y: Scale, direction: Direction, [lowest]: readonly [number, number]): Markup | undefined {
  if (last[direction] < lowest) return undefined;
  return markup`<circle class="end ${direction}" cx="${formatPercent(x, last.pairs)}" cy="${round(y(last[direction]))}" r="4"/>`;
}

function renderStrips(course: readonly EvidencePoint[], x: Scale): Markup {
  return markup`${course.map(({ pairs, promote, regress }, position) => {
    const from = x(course[position - 1]?.pairs ?? 0);
    const text = `pair ${formatCount(pairs)}: ${promote.toFixed(2)} for “promote”, ${regress.toFixed(2)} for “regress”`;
    return markup`<rect class="strip" x="${round(from)}" width="${round(x(pairs) - from)}" height="${HEIGHT}"><title>${text}</title></rect>`;
  })}`;
}
