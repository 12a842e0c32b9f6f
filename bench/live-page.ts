import { openBrowser, type Browser } from '../test/support/chromium.ts';
import type { Benchmark, Cell, Check, Table } from './benchmark.ts';
import { measureWithPages, measureWithStreams, openLists, VIEWS, type Opening, type PagesCost } from './live/looking.ts';
import { keepOn, listProcessors } from './live/processors.ts';
import { PAGES, ServerProcess, type MeasuredDelay } from './live/server-process.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

const SANDBOXES = 500;
const MOST_SCRIPTING = 60;
const MOST_DELAY_GROWTH = 1.1;
const MOST_HEAP_GROWTH = 1.1;
const MOST_OPENING = 1000;

/** The median of all rounds lies between the lowest and the highest of seven with a probability of 98 %. */
const ROUNDS = 7;
const QUICK_ROUNDS = 1;
const OPENING = 'opening long lists';
/** What is done to the server in a round. */
const ARMS = ['none', 'streams', 'elsewhere', 'pages'] as const;
type Arm = (typeof ARMS)[number];
const WORDS: Readonly<Record<Arm, string>> = {
  none: 'no page',
  streams: `${PAGES} streams that are read and not drawn`,
  elsewhere: `${PAGES} pages that follow another process with the same content`,
  pages: `${PAGES} pages`,
};

type Round = Readonly<Record<'none' | 'streams', MeasuredDelay>> & Readonly<Record<'elsewhere' | 'pages', PagesCost>>;
const nameRound = (round: number): string => `round ${round + 1}`;
const countRounds = (quick: boolean): number => (quick ? QUICK_ROUNDS : ROUNDS);

/** What the live page costs: the server's event loop, and the browser. */
export const livePage: Benchmark = {
  name: 'live-page',
  summary: 'the live page on 200 running evaluations and 500 sandboxes: the server with and without ten pages, their scripting and memory',
  measurements: (quick) => [...Array.from({ length: countRounds(quick) }, (_, round) => nameRound(round)), OPENING],
  async run({ quick, measured }) {
    const seconds = quick ? 1 : 15;
    const rows = quick ? 1000 : 100_000;
    await using server = await ServerProcess.simulate([rows, rows, SANDBOXES]);
    const [own, ...others] = listProcessors();
    if (own === undefined || others.length === 0)
      throw new Error('the benchmark needs two processors: one for the server, one for the browser');
    using _server = keepOn([own], server.pid);
    using _others = keepOn(others, process.pid);
    await using replay = await ServerProcess.replay(server, seconds);
    await using browser = await openBrowser();
    const rounds: Round[] = [];
    for (let round = 0; round < countRounds(quick); round += 1)
      rounds.push(await measured(nameRound(round), () => measureRound({ server, replay, browser, seconds }, round)));
    const opening = await measured(OPENING, () => openLists(server, browser));
    return {
      tables: [tabulateDelays(rounds, seconds), tabulateGrowth(rounds), tabulateViews(rounds), tabulateOpening(opening, rows)],
      checks: checksOf(rounds, opening),
      notes: [
        'Each figure is the median of the rounds, with the lowest and the highest. Each round measures all four, in another order.',
        `A browser disturbs the processor of the server also where it follows another process: the memory and, on some machines, the core are shared. ${PAGES} pages beside as many that follow another process are what pages cost the server.`,
        'Delays are from one look of a timer of 1 ms to the next; a hundredth of the looks lies above p99.',
        "Scripting and all work are processor time of the page's main thread.",
        'Simulated players report ten times a second each and store nothing; HTTP, stream, store and page are the real ones.',
        'The server has a processor of its own; the browser and the other process have the others.',
      ],
    };
  },
};

interface Place {
  readonly server: ServerProcess;
  /** Has the content of the server. */
  readonly replay: ServerProcess;
  readonly browser: Browser;
  readonly seconds: number;
}

/** All arms, each round in another order. */
async function measureRound({ server, replay, browser, seconds }: Place, round: number): Promise<Round> {
  const measure = {
    none: () => server.delayOver(seconds),
    streams: () => measureWithStreams(server, seconds),
    elsewhere: () => measureWithPages(server, { browser, at: replay, seconds }),
    pages: () => measureWithPages(server, { browser, at: server, seconds }),
  };
  const first = round % ARMS.length;
  const found: Partial<{ -readonly [Each in Arm]: Round[Each] }> = {};
  for (const arm of [...ARMS.slice(first), ...ARMS.slice(0, first)]) Object.assign(found, { [arm]: await measure[arm]() });
  const { none, streams, elsewhere, pages } = found;
  if (!none || !streams || !elsewhere || !pages) throw new Error('a round has all of its measurements');
  return { none, streams, elsewhere, pages };
}

function spread(rounds: readonly Round[], read: (round: Round) => number): Spread {
  return spreadOf(rounds.map(read));
}

function tabulateDelays(rounds: readonly Round[], seconds: number): Table {
  return {
    title: `The server, 200 evaluations with 10,000 episodes a second and ${SANDBOXES} sandboxes, ${rounds.length} rounds of ${seconds} s each`,
    columns: ['what', 'p50 of the event loop (ms)', 'p99 (ms)', 'looks', 'processor (ms/s)', 'load'],
    rows: ARMS.map((arm): Cell[] => [
      WORDS[arm],
      showSpread(
        spread(rounds, (round) => round[arm].p50),
        2,
      ),
      showSpread(
        spread(rounds, (round) => round[arm].p99),
        2,
      ),
      spread(rounds, (round) => round[arm].looks).low,
      showSpread(
        spread(rounds, (round) => round[arm].processor),
        0,
      ),
      showSpread(
        spread(rounds, (round) => round[arm].load),
        1,
      ),
    ]),
  };
}

const PAIRS = [
  ['streams', 'none'],
  ['elsewhere', 'none'],
  ['pages', 'elsewhere'],
] as const;

function tabulateGrowth(rounds: readonly Round[]): Table {
  return {
    title: 'Beside each other, in the same round',
    columns: ['what', 'beside', 'p99', 'processor'],
    rows: PAIRS.map(([one, other]): Cell[] => [
      WORDS[one],
      WORDS[other],
      `${showSpread(growthOf(rounds, one, other), 2)} ×`,
      `${showSpread(
        spread(rounds, (round) => round[one].processor / round[other].processor),
        2,
      )} ×`,
    ]),
  };
}

function growthOf(rounds: readonly Round[], one: Arm, other: Arm): Spread {
  return spread(rounds, (round) => round[one].p99 / round[other].p99);
}

/** Of one view in each round. */
function readViews(rounds: readonly Round[], address: string): PagesCost['views'] {
  return rounds.flatMap(({ pages }) => pages.views.filter((view) => view.address === address));
}

function tabulateViews(rounds: readonly Round[]): Table {
  return {
    title: 'Pages, by what they show',
    columns: ['address', 'scripting (ms/s)', 'all work (ms/s)', 'heap at first (MiB)', 'heap at the end (MiB)'],
    rows: VIEWS.map((address): Cell[] => {
      const views = readViews(rounds, address);
      const median = (read: (view: PagesCost['views'][number]) => number): number => spreadOf(views.map(read)).median;
      return [
        address,
        median(({ scripting }) => scripting),
        median(({ work }) => work),
        median(({ heap }) => heap[0] ?? Number.NaN),
        median(({ heap }) => heap.at(-1) ?? Number.NaN),
      ];
    }),
  };
}

function tabulateOpening(opening: Opening, rows: number): Table {
  return {
    title: `Of ${rows} evaluations and ${rows} episodes, until rows are shown`,
    columns: ['address', 'milliseconds'],
    rows: opening.map(({ what, milliseconds }): Cell[] => [what, milliseconds]),
  };
}

function checksOf(rounds: readonly Round[], opening: Opening): readonly Check[] {
  const views = rounds.flatMap(({ pages }) => pages.views);
  const scripting = Math.max(...views.map((view) => view.scripting));
  const heap = Math.max(...views.map((view) => (view.heap.at(-1) ?? Number.NaN) / (view.heap[0] ?? Number.NaN)));
  const slowest = Math.max(...opening.map(({ milliseconds }) => milliseconds));
  const check = (what: string, target: string, measured: string, met: boolean): Check => ({ what, target, measured, met });
  const checkDelay = (one: Arm, other: Arm): Check => {
    const growth = growthOf(rounds, one, other);
    const what = `p99 of the event loop with ${WORDS[one]}, beside ${WORDS[other]}`;
    return check(what, `≤ ${MOST_DELAY_GROWTH} ×`, `${showSpread(growth, 2)} ×`, growth.median <= MOST_DELAY_GROWTH);
  };
  return [
    checkDelay('streams', 'none'),
    checkDelay('pages', 'elsewhere'),
    check('scripting of a page', `≤ ${MOST_SCRIPTING} ms/s`, `${scripting.toFixed(1)} ms/s`, scripting <= MOST_SCRIPTING),
    check('heap of a page, at the end beside the beginning', `≤ ${MOST_HEAP_GROWTH} ×`, `${heap.toFixed(2)} ×`, heap <= MOST_HEAP_GROWTH),
    check('opening the longest list', `≤ ${MOST_OPENING} ms`, `${slowest.toFixed(0)} ms`, slowest <= MOST_OPENING),
  ];
}
