import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReportDocument } from '../../../src/faces/report/document.ts';
import { renderReportPage } from '../../../src/faces/report/page.ts';
import { DARK, LIGHT } from '../../../src/faces/report/text/palette.ts';
import { openBrowser } from '../../support/chromium.ts';
import { sampled } from '../../support/full-form.ts';
import type { Browser } from '../../support/chromium.ts';
import { candidate, comparison, courseTo, evaluation, nothing, tasksOf } from './documents.ts';
import { checked, graded, prepared, suiteGraded } from './gradings.ts';
import { rootOf, valueAt } from './page-text.ts';

const HOSTILE = `"><script>document.title = 'owned'</script><img src="http://example.org/x.png" onerror="document.title='owned'"><style>*{display:none}</style>`;
const LONG = 'x'.repeat(300);

const named = (name: string): ReportDocument => ({
  kind: 'evaluation',
  summary: evaluation(
    {
      suite: { ...evaluation().official.suite, name },
      tasks: tasksOf(3).map((task, position) => Object.assign(task, { name: `${position}${name}` })),
      metrics: [{ name, count: 1, missing: 0, mean: 1e9, standardDeviation: 1e-3, min: -1e12, max: 1e300 }],
      warnings: [name],
    },
    { checkpoint: { uri: name, files: 1, bytes: 1, run: name } },
  ),
});

const DOCUMENTS: Readonly<Record<string, ReportDocument>> = {
  evaluation: { kind: 'evaluation', summary: evaluation() },
  'evaluation-of-many-tasks': { kind: 'evaluation', summary: evaluation({ tasks: tasksOf(500) }) },
  'evaluation-cut-short': { kind: 'evaluation', summary: nothing() },
  evaluations: { kind: 'evaluations', summaries: [evaluation({ mean: 0.2 }), evaluation(), nothing()] },
  comparison: {
    kind: 'comparison',
    comparison: comparison({
      candidates: [
        candidate(0, 'promote', 0.06, 2),
        candidate(1, 'regress', -0.05, -2),
        candidate(2, 'equivalent', 0.001, -0.7),
        candidate(3, 'inconclusive', 0.005, 0.9),
      ],
    }),
  },
  'shuffled-comparison': {
    kind: 'comparison',
    comparison: comparison({
      candidates: [candidate(0, 'regress', -0.05, -2), candidate(1, 'promote', 0.06, 2), candidate(2, 'equivalent', 0.001, -0.7)],
    }),
  },
  'large-numbers': {
    kind: 'evaluation',
    summary: evaluation({
      episodes: 9_000_000,
      mean: -1_234_567.8,
      interval: {
        low: -1_234_789.1,
        high: -1_234_345.6,
        confidence: 0.95,
        method: 'certified',
        guarantee: 'at least the stated confidence',
      },
      targetHalfWidth: 250,
      histogram: { edges: [-2_000_000, -1_500_000, -1_000_000, -500_000], counts: [2_000_000, 5_000_000, 2_000_000] },
      quantiles: { of: 1_000_000, p05: -1_900_000, p25: -1_400_000, p50: -1_234_567, p75: -1_100_000, p95: -600_000 },
      tasks: tasksOf(3).map((task, position) => Object.assign(task, { mean: -1_234_567 - position * 1e5, standardError: 12_345.6 })),
      course: courseTo(120, 75_000, -1_234_567.8, 221.75),
    }),
  },
  verdict: { kind: 'verdict', submission: graded('of the sort') },
  'verdict-of-a-suite': { kind: 'verdict', submission: suiteGraded('of the sort') },
  check: { kind: 'check', tasks: [checked('first'), checked('second')] },
  'hostile-verdicts': { kind: 'check', tasks: [checked(HOSTILE), checked(LONG)] },
  preparation: { kind: 'preparation', preparation: prepared('of the sums') },
  'hostile-preparation': { kind: 'preparation', preparation: prepared(HOSTILE) },
  'hostile-names': named(HOSTILE),
  'long-names': named(LONG),
};

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(async () => {
  if (!browser) return;
  await browser[Symbol.asyncDispose]();
  expect(existsSync(browser.directory)).toBe(false);
});

interface Visit extends AsyncDisposable {
  readonly page: Page;
  readonly url: string;
  /** Addresses, in order. */
  readonly requests: readonly string[];
  /** What the browser had to complain about. */
  readonly complaints: readonly string[];
}

async function visit(name: string): Promise<Visit> {
  const document = DOCUMENTS[name];
  if (!document) throw new Error(`there is no document ${name}`);
  const path = join(browser.directory, `${name}.html`);
  writeFileSync(path, renderReportPage(document));
  const page = await browser.context.newPage();
  const [requests, complaints]: [string[], string[]] = [[], []];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.setViewportSize({ width: 1200, height: 900 });
  const url = pathToFileURL(path).href;
  await page.goto(url);
  return { page, url, requests, complaints, [Symbol.asyncDispose]: () => page.close() };
}

interface Figure {
  readonly source: string;
  readonly value: number;
}

/** All numbers of the page that say where in the document they stand, as the browser has them. */
async function figures(page: Page): Promise<Figure[]> {
  const alone = await page
    .locator('data[data-source]')
    .evaluateAll((elements) => elements.map((element): Figure => ({ source: element.dataset.source, value: Number(element.value) })));
  const cells = await page.locator('table[data-source] tbody data').evaluateAll((elements) =>
    elements.map((element): Figure => {
      const [cell, row, table] = ['td, th', 'tr', 'table'].map((selector) => element.closest(selector));
      const member = table.querySelectorAll('th[data-member]')[cell.cellIndex].dataset.member;
      return { source: `${table.dataset.source}.${row.sectionRowIndex}.${member}`, value: Number(element.value) };
    }),
  );
  return [...alone, ...cells];
}

/** Pages that have the parts of others. */
const FULL_FORM = new Set(['evaluation-cut-short', 'shuffled-comparison', 'verdict', 'check', 'preparation', 'hostile-preparation']);

describe.each(sampled(Object.entries(DOCUMENTS), ([name]) => !FULL_FORM.has(name)))('in a browser, the page %s', (name, document) => {
  it('requests only itself, logs no error, and has the figures of its document', async () => {
    await using opened = await visit(name);
    expect(opened.requests).toEqual([opened.url]);
    expect(opened.complaints).toEqual([]);
    const found = await figures(opened.page);
    expect(found).toEqual(found.map(({ source }) => ({ source, value: valueAt(rootOf(document), source) })));
    expect(found.length).toBeGreaterThan(10);
  });

  it('fits into narrow and wide windows, with no two labels of a chart on top of each other, and no heading below what follows', async () => {
    await using opened = await visit(name);
    for (const width of sampled([360, 400, 760, 1200], (each) => each === 360 || each === 1200)) {
      await opened.page.setViewportSize({ width, height: 900 });
      const needed = await opened.page.locator('html').evaluate((root) => Number(root.scrollWidth));
      expect(needed, `with ${width} pixels`).toBeLessThanOrEqual(width);
      expect(await opened.page.locator('svg.plot, svg.strip-head').evaluateAll(overlaps), `with ${width} pixels`).toEqual([]);
      expect(await opened.page.locator('.card>h2, .card>h3').evaluateAll(listCovered), `with ${width} pixels`).toEqual([]);
    }
  });
});

interface Chart {
  querySelectorAll(selector: 'text'): Iterable<Label>;
}

interface Label {
  readonly textContent: string | null;
  getBoundingClientRect(): {
    readonly width: number;
    readonly left: number;
    readonly right: number;
    readonly top: number;
    readonly bottom: number;
  };
}

/** Runs in the page. */
function listCovered(headings: readonly (Label & { readonly nextElementSibling: Label | null })[]): (string | null)[] {
  return headings
    .filter((heading) => {
      const next = heading.nextElementSibling?.getBoundingClientRect();
      return next !== undefined && next.top < heading.getBoundingClientRect().bottom;
    })
    .map(({ textContent }) => textContent);
}

/** Runs in the page. Labels that are not shown have no width. */
function overlaps(charts: readonly Chart[]): string[] {
  return charts.flatMap((chart) => {
    const labels = [...chart.querySelectorAll('text')].map((label) => ({ text: label.textContent, box: label.getBoundingClientRect() }));
    const shown = labels.filter(({ box }) => box.width > 0);
    return shown.flatMap(({ text, box: a }, position) =>
      shown.slice(position + 1).flatMap(({ text: other, box: b }) => {
        const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        return apart ? [] : [`${text} and ${other}`];
      }),
    );
  });
}

describe('in a browser, a table that is wider than a telephone', () => {
  it.each(['evaluation', 'evaluations', 'comparison'])('of the page %s scrolls to its last column, and says so', async (name) => {
    await using opened = await visit(name);
    await opened.page.setViewportSize({ width: 360, height: 800 });
    const found = await opened.page.locator('.scroll.wide').evaluateAll((regions) =>
      regions.map((region): [boolean, string] => {
        region.scrollLeft = region.scrollWidth;
        const last = region.querySelector('thead th:last-child').getBoundingClientRect();
        const reaches = last.right <= region.getBoundingClientRect().right + 1;
        return [reaches, region.ownerDocument.defaultView.getComputedStyle(region, '::before').content];
      }),
    );
    expect(found.length).toBeGreaterThan(0);
    expect(found).toEqual(found.map(() => [true, expect.stringContaining('scroll sideways')]));
  });
});

describe('in a browser, a page', () => {
  it('has the cards of a comparison in the order of its table', async () => {
    await using opened = await visit('shuffled-comparison');
    const textsOf = (selector: string): Promise<string[]> => opened.page.locator(selector).allTextContents();
    const inTable = await textsOf('section:has(> h2:text-is("Candidates")) tbody th');
    expect(await textsOf('.decision h2')).toEqual(inTable);
    expect(inTable).toHaveLength(3);
  });

  it('shows the answer as it is in the summary', async () => {
    await using opened = await visit('evaluation');
    const { official } = evaluation();
    const found = new Map((await figures(opened.page)).map(({ source, value }) => [source, value]));
    expect(found.get('official.mean')).toBe(official.mean);
    expect(found.get('official.interval.low')).toBe(official.interval?.low);
    expect(found.get('official.interval.high')).toBe(official.interval?.high);
    expect(found.get('official.episodes')).toBe(official.episodes);
    expect(found.get('official.course.127.mean')).toBe(official.course.at(-1)?.mean);
    expect(found.get('official.tasks.2.mean')).toBe(official.tasks[2]?.mean);
    expect(await opened.page.locator('.headline').textContent()).toBe('0.2730');
  });

  it('shows all of a course and of a histogram', async () => {
    await using opened = await visit('evaluation');
    const { course, histogram } = evaluation().official;
    expect(await opened.page.locator('.plot').first().locator('.strip').count()).toBe(course.length);
    expect(await opened.page.locator('.plot .bar').count()).toBe(histogram?.counts.length);
  });

  it.each([
    ['light', LIGHT],
    ['dark', DARK],
  ] as const)('is %s where people want it so', async (colorScheme, palette) => {
    await using opened = await visit('evaluation');
    await opened.page.emulateMedia({ colorScheme });
    expect(await coloursOf(opened.page)).toEqual([palette.page, palette.text].map(computed));
  });

  it('is printed whole in light colours', async () => {
    await using opened = await visit('evaluation-of-many-tasks');
    await opened.page.emulateMedia({ colorScheme: 'dark', media: 'print' });
    expect((await coloursOf(opened.page))[1]).toBe(computed(LIGHT.text));
    const [shown, whole] = await opened.page
      .locator('.scroll.tall')
      .evaluate(({ clientHeight, scrollHeight }): [number, number] => [clientHeight, scrollHeight]);
    expect(shown).toBe(whole);
  });

  it('shows names and warnings as text, whatever they contain', async () => {
    await using opened = await visit('hostile-names');
    expect(await opened.page.title()).toContain('<script>');
    expect(await opened.page.locator('h1').textContent()).toBe(HOSTILE);
    const foreign = 'script, img, iframe, object, embed, form, base, body style, a:not([href^="#"])';
    expect(await opened.page.locator(foreign).count()).toBe(0);
    const attributes = await opened.page
      .locator('*')
      .evaluateAll((elements) => elements.flatMap((element): string[] => element.getAttributeNames()));
    expect(attributes.filter((attribute) => attribute.startsWith('on'))).toEqual([]);
  });

  it('could not run a script or load a picture if one got into it', async () => {
    await using opened = await visit('evaluation');
    const path = join(browser.directory, 'tampered.html');
    const foreign = `<script>document.title = 'owned'</script><img src="file://${join(browser.directory, 'x.png')}">`;
    writeFileSync(path, readFileSync(join(browser.directory, 'evaluation.html'), 'utf8').replace('<main>', `<main>${foreign}`));
    await opened.page.goto(pathToFileURL(path).href);
    expect(await opened.page.title()).not.toBe('owned');
    expect(opened.complaints.filter((text) => text.includes('Content Security Policy'))).toHaveLength(2);
  });

  it('has landmarks, one first heading, headings without gaps, and words for every picture', async () => {
    for (const name of ['evaluation', 'evaluations', 'comparison']) {
      await using opened = await visit(name);
      const { page } = opened;
      for (const landmark of ['header', 'main', 'footer', 'h1']) expect(await page.locator(landmark).count(), `of ${landmark}`).toBe(1);
      const levels = await page.locator('h1, h2, h3').evaluateAll((headings) => headings.map(({ tagName }) => Number(tagName.slice(1))));
      levels.forEach((level, position) => expect(level - (levels[position - 1] ?? 0)).toBeLessThanOrEqual(1));
      const silent = await page
        .locator('svg')
        .evaluateAll((pictures) => pictures.filter((picture) => picture.closest('[aria-label], [aria-hidden="true"]') === null).length);
      expect(silent).toBe(0);
      expect(await page.locator('th:not([scope])').count()).toBe(0);
    }
  });
});

/** `#ffffff` as a browser writes it. */
function computed(colour: string): string {
  return `rgb(${[1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16)).join(', ')})`;
}

/** Of the background and of the text. */
function coloursOf(page: Page): Promise<string[]> {
  return page.locator('body').evaluate((body): string[] => {
    const { backgroundColor, color } = body.ownerDocument.defaultView.getComputedStyle(body);
    return [backgroundColor, color];
  });
}
