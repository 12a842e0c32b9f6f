import type { Cell, Check, Report } from '../benchmark.ts';
import { biasOf, episodesOf, shareOf } from './measurement.ts';
import { GROUPS, titleOf } from './scenario.ts';
import type { Estimate, Group, TrialOutcome } from './scenario.ts';
import type { Row } from './study.ts';
import { hold, percent } from './targets.ts';

interface Column {
  readonly title: string;
  readonly cell: (row: Row) => Cell;
}

const TITLES: Readonly<Record<Group, string>> = {
  certified: 'certified: stops when the confidence sequence is as narrow as asked for',
  approximate: 'approximate: stops at one of few looks, when the adjusted interval is as narrow as asked for',
  asymptotic: 'asymptotic: stops when the asymptotic confidence sequence is as narrow as asked for',
  fixed: 'fixed: a number of episodes given in advance',
  watched: 'looked at after every episode, past the stop: how often no look ever left the mean out',
  tasks: 'means over tasks: about 25 episodes for each, correlation within a task 0.2',
  decisions: 'comparisons: at most 2,000 pairs unless it says 200',
  bias: 'estimates at a stop: bias in standard deviations of the mean, and root mean squared error beside it; of comparisons those that promoted',
  dependence: 'the warning that episodes depend on one another: where they do not, and where they do',
};

const returns: Column = { title: 'returns', cell: ({ scenario }) => scenario.name };
const trials: Column = { title: 'trials', cell: ({ measurement }) => measurement.runs };
const episodes: Column = {
  title: 'episodes',
  cell: ({ measurement }) => {
    const { mean, error } = episodesOf(measurement);
    return error === 0 ? mean : `${mean.toFixed(0)} ± ${error.toFixed(1)}`;
  },
};
const coverage: Column = {
  title: 'coverage',
  cell: ({ measurement }) => {
    const { share, error } = shareOf(measurement, ['holds']);
    return `${percent(share, 2)} ± ${(100 * error).toFixed(2)}`;
  },
};
const cost: Column = {
  title: '×',
  cell: ({ scenario, measurement }) => {
    const { mean, error } = episodesOf(measurement);
    const unit = scenario.knownVarianceEpisodes ?? Number.NaN;
    return `${(mean / unit).toFixed(2)} ± ${(error / unit).toFixed(2)}`;
  },
};

const share = (outcome: TrialOutcome, title: string = outcome): Column => ({
  title,
  cell: ({ measurement }) => percent(shareOf(measurement, [outcome]).share, 2),
});

/** In units of the deviation of the plain mean. */
const estimate = (which: Estimate): Column => ({
  title: which,
  cell: ({ measurement }) => {
    const unit = biasOf(measurement, 'mean').deviation;
    const { bias, error, distance } = biasOf(measurement, which);
    return `${(bias / unit).toFixed(3)} ± ${(error / unit).toFixed(3)}, ${(distance / unit).toFixed(2)}`;
  },
});

const COVERAGE = [returns, trials, coverage, share('below', 'too low'), share('above', 'too high'), episodes];
const VERDICTS = [share('promote'), share('regress'), share('equivalent'), share('inconclusive')];

function columnsOf(group: Group): readonly Column[] {
  switch (group) {
    case 'certified':
    case 'approximate':
    case 'asymptotic':
      return [...COVERAGE, cost];
    case 'fixed':
    case 'watched':
    case 'tasks':
      return COVERAGE;
    case 'bias':
      return [returns, trials, estimate('mean'), estimate('middle'), estimate('reduced'), episodes];
    case 'dependence':
      return [returns, trials, share('warned'), episodes];
    case 'decisions':
      return [{ ...returns, title: 'candidates' }, trials, ...VERDICTS, { ...episodes, title: 'pairs' }];
  }
}

/** A table for each group that there are rows of; figures come with the standard error of the simulation. */
export function reportOf(rows: readonly Row[]): Report {
  const groups = GROUPS.map((group) => ({ group, rows: rows.filter(({ scenario }) => scenario.group === group) }));
  return {
    tables: groups
      .filter(({ rows }) => rows.length > 0)
      .map(({ group, rows }) => {
        const columns = columnsOf(group);
        return {
          title: TITLES[group],
          columns: columns.map(({ title }) => title),
          rows: rows.map((row) => columns.map(({ cell }) => cell(row))),
        };
      }),
    checks: rows.flatMap(({ scenario, measurement }) =>
      scenario.targets.map((target): Check => ({ what: `${titleOf(scenario)}: ${target.figure}`, ...hold(measurement, target) })),
    ),
    notes: [
      '± is the standard error of the simulation.',
      '× is the multiple of (z·σ/h)², which a normal interval would take if the variance were known.',
    ],
  };
}
