import type { StagedVerifier } from '../tasks/task.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import { DRIVER, TESTS } from './grading-template.ts';
import type { CasesStage, Measure } from '../tasks/muster-schema.ts';

/** Variables that affect the start of the interpreter, or that a fork does not have. */
const OF_RUNS: ReadonlySet<Measure> = new Set(['wallSeconds', 'processorSeconds', 'peakBytes', 'instructions', 'systemCalls']);
const MODULES = /^(?:import\s+(?<plain>[\w., \t]+)|from\s+(?<from>[\w.]+)\s+import\b)/gm;
const MOST_MODULES = 64;

/**
 * Lists the modules that the task's own Python program imports, for an interpreter from which its runs are forked. Returns undefined where every run
 * is started by itself, because something of the runs is measured.
 *
 * @param commands whose programs are read if they are tests or the driver: all commands that take turns, so that one interpreter serves all. Nothing
 * is known about a program of the candidate.
 */
export async function listForkedModules(
  { grading: { step, content }, verifier }: CandidateTerms,
  { driver }: CasesStage,
  commands: readonly (readonly string[])[],
): Promise<readonly string[] | undefined> {
  if (isMeasured(verifier)) return undefined;
  const programs = commands.flatMap((command) => command.find((word) => word.endsWith('.py')) ?? []);
  const places = [{ inside: `${TESTS}/`, in: '' }, ...(driver === undefined ? [] : [{ inside: `${DRIVER}/`, in: `${driver}/` }])];
  const own = new Set(
    places.flatMap((place) =>
      programs.flatMap((program) => (program.startsWith(place.inside) ? [place.in + program.slice(place.inside.length)] : [])),
    ),
  );
  const files = step.tests.filter(({ path }) => own.has(path));
  const sources = await Promise.all(files.map(async ({ file }) => (await content.read(file)).toString('utf8')));
  return [...new Set(sources.flatMap(findImports))].sort().slice(0, MOST_MODULES);
}

function isMeasured({ constraints, score }: StagedVerifier): boolean {
  return score.speed !== undefined || score.efficiency !== undefined || constraints.some(({ measure }) => OF_RUNS.has(measure));
}

/** Lists the modules that import statements at the beginning of a line name. */
function findImports(source: string): readonly string[] {
  const named = [...source.matchAll(MODULES)].flatMap(({ groups }) =>
    groups?.['from'] === undefined
      ? (groups?.['plain'] ?? '').split(',').map((part) => part.trim().split(/\s/)[0] ?? '')
      : [groups['from']],
  );
  const modules = named.filter((name) => /^[A-Za-z_][\w.]*$/.test(name));
  return modules;
}
