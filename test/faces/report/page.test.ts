import { describe, expect, it } from 'vitest';
import { comparisonSummarySchema } from '../../../src/orchestrator/results/comparison-summary.ts';
import { summarySchema } from '../../../src/orchestrator/results/summary.ts';
import type { ReportDocument } from '../../../src/faces/report/document.ts';
import { renderReportPage } from '../../../src/faces/report/page.ts';
import { candidate, comparison, courseTo, evaluation, nothing, tasksOf } from './documents.ts';
import { figuresOf, rootOf, textOf, unbalanced, valueAt } from './page-text.ts';

const page = (official: Parameters<typeof evaluation>[0] = {}, beside: Parameters<typeof evaluation>[1] = {}): string =>
  renderReportPage({ kind: 'evaluation', summary: evaluation(official, beside) });
const compared = (official: Parameters<typeof comparison>[0] = {}, beside: Parameters<typeof comparison>[1] = {}): string =>
  renderReportPage({ kind: 'comparison', comparison: comparison(official, beside) });

const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>' & \u202e\u0000`;

const OFFICIAL = evaluation().official;
const DOCUMENTS: Readonly<Record<string, ReportDocument>> = {
  evaluation: { kind: 'evaluation', summary: evaluation() },
  'an evaluation of 500 tasks': { kind: 'evaluation', summary: evaluation({ tasks: tasksOf(500) }) },
  'an evaluation of one task': { kind: 'evaluation', summary: evaluation({ tasks: tasksOf(1) }) },
  'an evaluation that was cut short before its first episode': { kind: 'evaluation', summary: nothing() },
  'an evaluation without interval': {
    kind: 'evaluation',
    summary: evaluation({
      interval: null,
      worstCase: null,
      course: OFFICIAL.course.map(({ episodes, mean }) => ({ episodes, mean, low: null, high: null })),
    }),
  },
  'an evaluation of one episode': {
    kind: 'evaluation',
    summary: evaluation({
      episodes: 1,
      resolved: 1,
      unresolved: 0,
      mean: 1,
      min: 1,
      max: 1,
      variance: null,
      standardError: null,
      interval: null,
      quantiles: { of: 1, p05: 1, p25: 1, p50: 1, p75: 1, p95: 1 },
      histogram: { edges: [0.5, 1.5], counts: [1] },
      course: [{ episodes: 1, mean: 1, low: null, high: null }],
    }),
  },
  'returns beyond what can be drawn': {
    kind: 'evaluation',
    summary: evaluation({
      mean: 0,
      min: -1.7e308,
      max: 1.7e308,
      variance: null,
      interval: null,
      histogram: { edges: [-1.7e308, 0, 1.7e308], counts: [1, 1] },
      course: [
        { episodes: 1, mean: -1.7e308, low: null, high: null },
        { episodes: 2, mean: 1.7e308, low: null, high: null },
      ],
    }),
  },
  'several evaluations': { kind: 'evaluations', summaries: [evaluation({ mean: 0.2 }), evaluation(), nothing()] },
  'no evaluation at all': { kind: 'evaluations', summaries: [] },
  comparison: { kind: 'comparison', comparison: comparison() },
  'a comparison before its first pair': {
    kind: 'comparison',
    comparison: comparison({
      pairs: 0,
      episodes: 0,
      endedBy: null,
      candidates: [
        {
          ...candidate(0, 'inconclusive', 0, 0),
          pairs: 0,
          mean: null,
          baselineMean: null,
          difference: null,
          standardError: null,
          interval: null,
          course: [],
          smallestEffect: null,
          probabilityOfImprovement: null,
        },
      ],
    }),
  },
};

describe.each(Object.entries(DOCUMENTS))('the page of: %s', (_, document) => {
  const html = renderReportPage(document);

  it('is made of a possible document', () => {
    expect(problemsOf(document)).toEqual([]);
  });

  it('shows every number as the document has it', () => {
    const figures = figuresOf(html);
    expect(figures).toEqual(figures.map(({ source }) => ({ source, value: valueAt(rootOf(document), source) })));
  });

  it('is HTML in which every element ends, and no id comes twice', () => {
    expect(unbalanced(html)).toEqual([]);
    const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('shows no NaN, Infinity or undefined', () => {
    expect(html).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });

  it('is the same every time', () => {
    expect(renderReportPage(document)).toBe(html);
  });
});

/** What the schemas of Muster's documents have against it. */
function problemsOf(document: ReportDocument): string[] {
  const summaries = document.kind === 'evaluation' ? [document.summary] : document.kind === 'evaluations' ? document.summaries : [];
  const parsed = [
    ...summaries.map((summary) => summarySchema.safeParse(summary)),
    ...(document.kind === 'comparison' ? [comparisonSummarySchema.safeParse(document.comparison)] : []),
  ];
  return parsed.flatMap(({ error }) => (error ? [error.message] : []));
}

it('a page has the numbers of its document', () => {
  const sources = figuresOf(page()).map(({ source }) => source);
  for (const path of ['mean', 'interval.low', 'interval.high', 'episodes', 'variance', 'standardError', 'iqm.value', 'success.rate'])
    expect(sources).toContain(`official.${path}`);
  expect(sources).toContain('official.course.127.high');
  expect(sources).toContain('official.tasks.2.mean');
  expect(sources).toContain('official.metrics.1.standardDeviation');
  expect(sources).toContain('run.pool.created');
});

describe('a page', () => {
  it('is self-contained: no script, no address, and a policy that forbids both', () => {
    const html = page();
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"`);
    expect(html).not.toMatch(/<script|<iframe|<img|<object|<form|https?:|url\(|@import/i);
    expect([...html.matchAll(/ href="([^"]*)"/g)].map(([, href]) => href).filter((href) => href?.startsWith('#') === false)).toEqual([
      'data:,',
    ]);
  });

  it('is below 300 KB for 128 points and 100 tasks', () => {
    const html = page({ tasks: tasksOf(100) });
    expect(OFFICIAL.course).toHaveLength(128);
    expect(Buffer.byteLength(html)).toBeLessThan(300_000);
  });

  it.each<[string, ReportDocument]>([
    [
      'an evaluation',
      {
        kind: 'evaluation',
        summary: evaluation(
          {
            suite: { ...OFFICIAL.suite, name: HOSTILE },
            tasks: tasksOf(2).map((task, position) => Object.assign(task, { name: `${position}${HOSTILE}` })),
            metrics: [{ name: HOSTILE, count: 0, missing: 1, mean: null, standardDeviation: null, min: null, max: null }],
            warnings: [HOSTILE],
          },
          {
            warnings: [HOSTILE],
            checkpoint: { uri: `runs/${HOSTILE}`, files: 1, bytes: 1, run: HOSTILE },
            run: { ...evaluation().run, pool: { ...evaluation().run.pool, provider: HOSTILE, template: HOSTILE, mechanism: HOSTILE } },
          },
        ),
      },
    ],
    [
      'a comparison',
      {
        kind: 'comparison',
        comparison: comparison(
          { warnings: [HOSTILE] },
          {
            warnings: [HOSTILE],
            candidates: [{ uri: HOSTILE, files: 1, bytes: 1 }],
            baseline: { uri: HOSTILE, files: 1, bytes: 1, recorded: true },
          },
        ),
      },
    ],
  ])('shows names and warnings of %s as text, whatever they are', (_, document) => {
    const html = renderReportPage(document);
    expect(html).not.toMatch(/<script|<img|\u202e/);
    expect(html).not.toContain('\u0000');
    expect(unbalanced(html)).toEqual([]);
    expect(textOf(html)).toContain(String.raw`"><script>alert(1)</script><img src=x onerror=alert(1)>' & \u202e\u0000`);
  });
});

describe('the page of an evaluation', () => {
  it('has the answer first: the mean, its interval and what that promises, the rule, and how it ended', () => {
    const text = textOf(page());
    expect(text).toMatch(/inventory 2030-01-02 03:04 UTC late\.safetensors/);
    expect(text).toMatch(
      /Mean return 0\.2730 Bias-reduced 0\.2730: quote this one, since the returns decided when to stop\. 95 % interval \[0\.2637, 0\.2823\] certified: at least the stated confidence\./,
    );
    expect(text).toMatch(/Episodes 2,048, as many as the stopping rule asked for/);
    expect(text).toMatch(/Stopping rule certified: play until the interval reaches at most 0\.01 to either side/);
    expect(text).toMatch(/Half-width 0\.0093, asked for 0\.01/);
    expect(text.indexOf('Mean return')).toBeLessThan(text.indexOf('warnings'));
  });

  it.each([
    [{ rule: 'fixed', episodes: 5000, confidence: 0.95 }, 'fixed: 5,000 episodes, decided in advance'],
    [
      { rule: 'approximate', halfWidth: 2, confidence: 0.9 },
      'approximate: play until the interval, looked at now and then, reaches at most 2',
    ],
    [{ rule: 'asymptotic', halfWidth: 2, confidence: 0.9, tightestAt: 500 }, 'to either side; tightest at 500 episodes'],
  ] as const)('says the stopping rule in words: $rule', (stop, words) => {
    expect(textOf(page({ stop }))).toContain(words);
  });

  it('marks what was interrupted', () => {
    expect(textOf(page({}, { ended: 'seconds', partial: true }))).toMatch(/ended by the budget of seconds.*◐ partial/);
    expect(textOf(page())).not.toContain('partial');
  });

  it('has all warnings at the top, official and others', () => {
    const text = textOf(page({ warnings: ['Bounds are loose.'] }, { warnings: ['It was interrupted.'] }));
    expect(text).toMatch(/2 warnings Bounds are loose\. It was interrupted\. The interval, episode by episode/);
    expect(textOf(page({ warnings: [] }, { warnings: [] }))).not.toContain('warning');
  });

  it('shows tasks from the lowest mean on, those without one last, and none where there is only one', () => {
    const [a, b, c] = tasksOf(3);
    if (!a || !b || !c) throw new Error('expected three tasks');
    const tasks = [
      { ...a, name: 'none', mean: null, standardError: null },
      { ...b, name: 'good', mean: 2 },
      { ...c, name: 'bad', mean: -1 },
    ];
    expect(textOf(page({ tasks }))).toMatch(/Tasks 3 tasks.* bad .* good .* none/);
    expect(textOf(page({ tasks: tasksOf(1) }))).not.toContain('1 task,');
  });

  it('lets many tasks scroll', () => {
    expect(page({ tasks: tasksOf(16) })).toContain('class="scroll tall"');
    expect(page({ tasks: tasksOf(15) })).not.toContain('class="scroll tall"');
  });

  it('counts failed episodes by cause, the most frequent first, and says when none failed', () => {
    expect(textOf(page())).toMatch(/environment-crash 11 0\.54 %.*timeout 3 0\.15 %.*out-of-bounds 1 0\.05 %/);
    const failures = { ...OFFICIAL.failures, timeout: 0, 'environment-crash': 0, 'out-of-bounds': 0 };
    expect(textOf(page({ failures }))).toContain('No episode failed.');
  });

  it('says what unresolved episodes could change at most', () => {
    expect(textOf(page())).toMatch(/3 of 2,048 episodes \(0\.15 %\) are unresolved.*the mean would be in \[0\.2717, 0\.2741\]/);
    expect(textOf(page({ worstCase: null }))).toContain('nothing is known about what they could have come to');
    expect(textOf(page({ unresolved: 0, resolved: 2048 }))).toContain('No episode is unresolved');
  });

  it('names both estimands, and the secondary figures with what they promise', () => {
    const text = textOf(page());
    expect(text).toMatch(/This suite 0\.27299 ± 0\.00044/);
    expect(text).toMatch(/Task population 0\.2730 ± 0\.0152 \[0\.208, 0\.338\] all tasks of which these 3 are a sample/);
    expect(text).toMatch(/Interquartile mean 0\.27311 \[0\.27240, 0\.27390\].*stratified bootstrap.*2,000 replicates/);
    expect(text).toMatch(/Had it been known 16 .*Played beyond that 2,032 128\.0 times as many/);
    expect(text).toMatch(/Success rate 88\.12 %.*pass@8 0\.99931 \[0\.99810, 0\.99987\].*pass\^8 – /);
  });

  it('reports when it ended before its half-width could have been reached', () => {
    expect(textOf(page({ certainty: { knownVarianceEpisodes: 4000, extraEpisodes: -1952 } }))).toMatch(
      /Played beyond that -1,952 episodes: it ended before it had as many/,
    );
  });

  it('reports times, what happened to sandboxes, and which limits were not enforced', () => {
    const text = textOf(page());
    expect(text).toMatch(
      /Wall clock 1:05 .*One episode 15\.1 ms mean; half take at most 14\.8 ms, 95 % at most 31 ms, the longest took 1\.2 s/,
    );
    expect(text).toMatch(/Created 11 11 destroyed, 3 died/);
    expect(text).toMatch(/memory by cgroup-v2; cpu not enforced; processes by rlimit, each process for itself/);
  });

  it('names the episodes that were not deterministic, twenty at most', () => {
    const nonDeterministic = Array.from({ length: 23 }, (_, index) => index);
    const { run } = evaluation();
    expect(textOf(page({}, { run: { ...run, nonDeterministic } }))).toMatch(/Not deterministic 23 .*18, 19 and 3 more/);
  });
});

describe('failed episodes', () => {
  it('are shown with their share and their first errors, as text', () => {
    const summary = evaluation({}, { run: { ...evaluation().run, errors: [ERROR], otherErrors: 4 } });
    const html = renderReportPage({ kind: 'evaluation', summary });
    expect(html).toContain('&lt;Shop&gt; is closed');
    expect(textOf(html)).toMatch(
      /0\.73 % of 2,045 episodes failed\..* 11 × environment-crash, first in episode 3 .*4 more failed with other errors/,
    );
  });

  it('that are all episodes leave no answer', () => {
    const text = textOf(
      renderReportPage({ kind: 'evaluation', summary: evaluation({}, { ended: 'failures', partial: true, allFailed: true }) }),
    );
    expect(text).toMatch(/Mean return none There is no answer: all episodes failed/);
  });
});

const ERROR = {
  checkpoint: evaluation().official.checkpoint.digest,
  cause: 'environment-crash',
  episodes: 11,
  firstIndex: 3,
  detail: 'RuntimeError: <Shop> is closed\n  File "shop.py", line 3, in step',
} as const;

describe('the charts of an evaluation', () => {
  it('say in words what they show', () => {
    expect(page()).toContain(
      'aria-label="The running mean over 2,048 episodes and its interval, which ends as 0.2637 to 0.2823 around 0.2730."',
    );
    expect(page()).toContain(
      'aria-label="Histogram of returns: the tallest bar has 520 episodes from 0.2700 to 0.2810. Half of the returns lie between 0.2658 and 0.2801."',
    );
  });

  it('show the end: intervals more than five times as wide as the last one may reach beyond the picture', () => {
    const wide = { episodes: 1, mean: 500, low: 0, high: 1000 };
    const course = [wide, { episodes: 50, mean: 501, low: 496, high: 506 }, { episodes: 100, mean: 500, low: 499, high: 501 }];
    const [, plot = ''] = page({ course, targetHalfWidth: null }).split('class="plot"');
    const ticks = [...plot.slice(0, plot.indexOf('</figure>')).matchAll(/text-anchor="end">([^<]*)</g)].map(([, text]) => Number(text));
    expect([Math.min(...ticks), Math.max(...ticks)]).toEqual([496, 506]);
  });

  it('show the figures of a point or bar under the pointer', () => {
    const html = page({ course: courseTo(4, 10, 5, 1) });
    expect(html).toContain('<title>episode 40: 5.00 in [4.00, 6.00]</title>');
    expect(html).toContain('<title>520 from 0.2700 to 0.2810</title>');
  });

  it('have no bar beyond the lowest and the highest return', () => {
    const html = page({ min: 0, max: 1, histogram: { edges: [-0.5, 0.5, 1.5], counts: [3, 7] } });
    expect(barsOf(html).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^3 from 0\.0+ to 0\.50*$/),
      expect.stringMatching(/^7 from 0\.50* to 1\.0+$/),
    ]);
    expect(html).toContain('<data value="0" data-source="official.min">');
    expect(html).not.toContain('<data value="-0.5"');
  });

  it('have bars of one width for bins of one width, also at the ends', () => {
    const html = page({ min: 21, max: 60, histogram: { edges: [20.5, 30.5, 40.5, 50.5, 60.5], counts: [1, 2, 4, 15] } });
    const [first = 0, ...others] = barsOf(html).map(({ width }) => width);
    expect(first).toBeGreaterThan(0);
    expect(others).toEqual(others.map(() => expect.closeTo(first, 0)));
  });

  it('draw bins of unequal width by density, and say so', () => {
    const html = page({ min: 0, max: 10, histogram: { edges: [0, 1, 2, 10], counts: [8, 4, 8] } });
    const [narrow = 0, half = 0, wide = 0] = barsOf(html).map(({ height }) => height);
    expect(html).toContain('episodes per 8');
    expect([half / narrow, wide / narrow]).toEqual([expect.closeTo(1 / 2, 2), expect.closeTo(1 / 8, 2)]);
  });

  it('are replaced by a sentence where there is nothing to draw', () => {
    const text = textOf(renderReportPage({ kind: 'evaluation', summary: nothing() }));
    expect(text).toContain('there is nothing in it to draw');
    expect(text).toContain('No episode was resolved.');
    expect(textOf(page({ min: -1.7e308, max: 1.7e308, histogram: { edges: [-1.7e308, 1.7e308], counts: [2] } }))).toContain(
      'The returns are too far apart to be drawn.',
    );
    const course = [0.9, 0.6, 0.4].map((high, position) => ({ episodes: position + 2, mean: 0, low: 0, high }));
    const zeros = page({ mean: 0, min: 0, max: 0, histogram: { edges: [-0.5, 0.5], counts: [7] }, course });
    expect(textOf(zeros)).toContain('Every episode returned 0.');
    expect(barsOf(zeros)).toEqual([]);
    expect(textOf(zeros)).not.toContain('beyond the picture');
    expect(textOf(page({}))).toContain('Early intervals reach beyond the picture.');
  });
});

describe('the page of several evaluations', () => {
  const low = evaluation({ mean: 0.4, biasReducedMean: 0.2 }, { checkpoint: { uri: 'a/low.safetensors', files: 1, bytes: 1 } });
  const high = evaluation({ mean: 0.1, biasReducedMean: 0.3 }, { checkpoint: { uri: 'a/high.safetensors', files: 1, bytes: 1 } });
  const text = textOf(renderReportPage({ kind: 'evaluations', summaries: [nothing(), low, high] }));

  it('ranks them by the means to quote, and says how sure the ranks are', () => {
    expect(text).toMatch(/1 to 3 high\.safetensors .* 1 to 3 low\.safetensors .* 1 to 3 late\.safetensors/);
    const interval = low.official.interval && { ...low.official.interval, low: 0.1, high: 0.21 };
    const below = { ...low, official: { ...low.official, interval } };
    expect(textOf(renderReportPage({ kind: 'evaluations', summaries: [below, high] }))).toMatch(
      / 1 high\.safetensors .* 2 low\.safetensors /,
    );
    expect(text).toContain('With at least 90 % all of these ranks are right. Where intervals overlap, the order is not settled');
  });

  it('says that evaluations of different suites cannot be ranked', () => {
    const other = evaluation({ suite: { name: 'other', digest: `sha256:${'d'.repeat(64)}` } });
    expect(text).not.toContain('different suites');
    expect(textOf(renderReportPage({ kind: 'evaluations', summaries: [low, other] }))).toContain(
      'These evaluations are of different suites',
    );
  });
});

describe('the page of a comparison', () => {
  it.each([
    ['promote', 'The candidate is better than the baseline by more than 0.01.'],
    ['regress', 'The candidate is worse than the baseline by more than 0.01.'],
    ['equivalent', 'The candidate and the baseline differ by at most 0.01.'],
    ['inconclusive', 'By the end, nothing was shown in either direction.'],
  ] as const)('has the verdict first, as a word, a symbol and a sentence: %s', (verdict, sentence) => {
    const html = compared({ candidates: [candidate(0, verdict, 0.01, 1)] });
    expect(textOf(html)).toMatch(new RegExp(`Comparison inventory Baseline .* step-0000\\.safetensors ${verdict} ${sentence}`));
    expect(html).toMatch(
      new RegExp(`<span class="verdict ${verdict}"><svg[^>]*aria-hidden="true"><path d="M[^"]*"/></svg>${verdict}</span>`),
    );
  });

  it('shows no margin if there is none', () => {
    const text = textOf(compared({ margin: 0 }));
    expect(text).toContain('The candidate is better than the baseline.');
    expect(text).not.toContain('margin');
  });

  it('says beside "inconclusive" which effect so many pairs would have found', () => {
    expect(textOf(compared({ candidates: [candidate(0, 'inconclusive', 0.001, 1)] }))).toContain(
      'find a difference of 0.0123 with a power of 80 %',
    );
  });

  it('has difference, interval and pairs of each, and all of them on one scale', () => {
    const text = textOf(compared());
    expect(text).toMatch(/Difference 0\.060 \[0\.039, 0\.081\] Decided after 480 pairs/);
    expect(text).toMatch(/Candidates The greatest difference first/);
    expect(text).toMatch(/Probability of improvement 56 % \[54 %, 58 %\]/);
    expect(textOf(compared({ candidates: [candidate(0, 'promote', 0.06, 2)] }))).not.toContain('Candidates The greatest');
  });

  it('names candidates by their whole source when their names are the same', () => {
    const candidates = ['a', 'b'].map((folder) => ({ uri: `${folder}/late.safetensors`, files: 1, bytes: 1 }));
    expect(textOf(compared({}, { candidates }))).toMatch(/a\/late\.safetensors promote.*b\/late\.safetensors regress/);
  });

  it('has the warnings of a candidate beside its charts', () => {
    const html = compared({ candidates: [candidate(0, 'inconclusive', 0.001, 1)] });
    expect(textOf(html)).toMatch(
      /step-0000\.safetensors inconclusive ⚠ A warning 13 of 480 pairs are unresolved, more than 2 %\. Evidence/,
    );
  });

  it('describes the evidence in words', () => {
    expect(compared({ candidates: [candidate(0, 'promote', 0.06, 2)] })).toMatch(
      /aria-label="After 480 pairs the evidence is 1\.\d\d for “promote” and -1\.\d\d for “regress”, in orders of magnitude; 1\.90 decides\."/,
    );
  });
});

/** Bars of the histogram, with their widths in units of the picture and their heights in pixels. */
function barsOf(html: string): { readonly width: number; readonly height: number; readonly text: string }[] {
  const found = html.matchAll(/<rect class="bar"[^>]* width="([\d.]+)"[^>]* height="([\d.]+)"><title>([^<]*)<\/title>/g);
  return Array.from(found, ([, width, height, text]) => ({ width: Number(width), height: Number(height), text: text ?? '' }));
}
