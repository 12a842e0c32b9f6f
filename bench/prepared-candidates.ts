import { prepareFixture } from '../test/support/prepared-repository.ts';
import { RepositoryFixture } from '../test/support/repository-fixture.ts';
import type { Benchmark } from './benchmark.ts';

const FUNCTIONS = Array.from({ length: 12 }, (_, at) => at + 1);
const TARGET = 60;
const PREPARED = 'candidates prepared';
/** `spins` repetitions take the tests together some 2 s of processor time; the one of the quick form, 0.15 s. */
const EXTENT = { full: { mutations: 12, spins: 14 }, quick: { mutations: 1, spins: 1 } };

export const preparedCandidates: Benchmark = {
  name: 'preparation',
  summary: 'mutations of a Python repository, whose tests take some 2 s, made into tasks',
  measurements: () => [PREPARED],
  async run({ quick, measured }) {
    const { candidates, tasks, seconds, testSeconds } = await measured(PREPARED, () => prepareAll(quick ? EXTENT.quick : EXTENT.full));
    const hourly = (3600 * candidates) / seconds;
    return {
      tables: [
        {
          title: 'Mutations of one repository, on one worker for each processor',
          columns: ['candidates', 'tasks', 'seconds', 'of one run of the tests', 'candidates an hour'],
          rows: [[candidates, tasks, seconds.toFixed(0), testSeconds.toFixed(2), hourly.toFixed(0)]],
        },
      ],
      checks: [{ what: 'candidates an hour', target: `≥ ${TARGET}`, measured: hourly.toFixed(0), met: hourly >= TARGET }],
      notes: [
        `A candidate that becomes a task has run its tests some thirty times: test patch, three shuffled runs, tripwires, and three verdicts for the solution, for nothing done and for each cheat; 20 s of repeats come once. Mutations of one repository share the runs of the right code. The last proof by an evaluation is not part of it. Nothing is kept from an earlier preparation.`,
      ],
    };
  },
};

interface Prepared {
  readonly candidates: number;
  readonly tasks: number;
  readonly seconds: number;
  readonly testSeconds: number;
}

async function prepareAll({ mutations, spins }: typeof EXTENT.full): Promise<Prepared> {
  await using made = await RepositoryFixture.make();
  const files = { 'pyproject.toml': PROJECT, 'scales.py': writeCode(), 'tests/test_scales.py': writeTests(spins) };
  await made.commit('Begin with scales', files);
  const { candidates, seconds } = await prepareFixture(made, { commits: 0, mutations });
  const tasks = candidates.filter(({ task }) => task !== null).length;
  const testSeconds = Math.max(...candidates.map(({ evidence }) => evidence.testSeconds ?? 0));
  return { candidates: candidates.length, tasks, seconds, testSeconds };
}

const PROJECT = '[project]\nname = "scales"\nversion = "0.1"\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n';

function writeCode(): string {
  const scales = FUNCTIONS.map(
    (at) =>
      `def scale_${at}(value):\n    """Give the value times ${at}, and no less than 0."""\n    if value < 0:\n        return 0\n    return value * ${at}\n`,
  );
  return scales.join('\n\n');
}

function writeTests(count: number): string {
  const spins = Array.from(
    { length: count },
    (_, at) =>
      `def test_spin_${at}():\n    total = 0\n    for each in range(3_000_000):\n        total = (total + each) % 1000\n    assert total == 0\n`,
  );
  const scales = FUNCTIONS.map(
    (at) => `def test_scale_${at}():\n    assert scales.scale_${at}(-2) == 0\n    assert scales.scale_${at}(3) == ${3 * at}\n`,
  );
  return ['import scales\n', ...spins, ...scales].join('\n\n');
}
