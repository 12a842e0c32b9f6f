import type { KnownSubmission, Task, TaskFile } from './task.ts';

const SCRIPT = 'solve.sh';
const SOLUTION = /^(steps\/[^/]+\/)?solution\//;

type Known = Pick<Task, 'oracle' | 'cheats' | 'twins'>;

/** The submissions that the task brings along: `solution/`, of the task or of its steps, and each directory in `cheats/` and `twins/`. */
export function findKnownSubmissions(files: readonly TaskFile[], environment: Readonly<Record<string, string>>): Known {
  const paths = new Set(files.map(({ path }) => path));
  const submission = (name: string, directory: string): KnownSubmission => ({
    name,
    directory,
    kind: paths.has(`${directory}/${SCRIPT}`) ? 'script' : 'files',
    environment,
  });
  const inside = (directory: string): readonly KnownSubmission[] => {
    const names = [...paths].filter((path) => path.startsWith(`${directory}/`)).map((path) => path.split('/'));
    const ofDirectories = new Set(names.filter(({ length }) => length > 2).map(([, name = '']) => name));
    return [...ofDirectories].sort().map((name) => submission(name, `${directory}/${name}`));
  };
  const hasOracle = [...paths].some((path) => SOLUTION.test(path));
  return { oracle: hasOracle ? submission('oracle', 'solution') : undefined, cheats: inside('cheats'), twins: inside('twins') };
}
