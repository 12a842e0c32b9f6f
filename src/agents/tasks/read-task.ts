import { InputError } from '../../kernel/errors.ts';
import { INVALID, parseHarborTask, parseMusterTask } from './declaration.ts';
import type { HarborTask } from './harbor-schema.ts';
import { musterTaskSchema, type MusterTask } from './muster-schema.ts';
import { readStep, type StepParts } from './read-step.ts';
import { digestTask } from './task-digest.ts';
import { DOCKERFILE, type TaskDirectory } from './task-directory.ts';
import { isTaskId, TASK_ID_EXPECTED, type TaskId } from './task-ids.ts';
import type { Task, TaskStep, KnownSubmission, TaskFile } from './task.ts';
import { decodeText } from './text-file.ts';
import { readLimits, readWorkspace } from './workspace.ts';

const TASK_TOML = 'task.toml';
const MUSTER_TOML = 'muster.toml';

/**
 * Reads a task of a Harbor directory, with its `muster.toml`.
 *
 * @throws InputError `task.missing`, `task.invalid`, `task.no-tests`, `task.cases`: each names the file, the field where there is one, and the
 * remedy.
 */
export function readTask(directory: TaskDirectory): Task {
  const { harbor, notices } = readHarbor(directory);
  const muster = readMuster(directory, MUSTER_TOML);
  const where = `${directory.where}/${TASK_TOML}`;
  const paths = new Set(directory.files.map(({ path }) => path));
  const place = { where, paths, dockerfile: decodeText(directory, DOCKERFILE) };
  const workspace = readWorkspace(place, harbor.environment, muster.workspace);
  const steps = getSteps(directory, harbor, muster).map((step) => readStep(directory, step, { harbor, workspace }));
  const [first, ...others] = steps.map(({ step }) => step);
  if (first === undefined) throw new InputError(INVALID, `${where}: steps: is empty; expected at least one step`);
  const content: Omit<Task, 'digest' | 'notices'> = {
    id: getId(directory, harbor),
    description: harbor.task?.description ?? '',
    keywords: harbor.task?.keywords ?? [],
    files: directory.files,
    workspace,
    limits: readLimits(where, harbor.environment),
    steps: [first, ...others],
    arena: muster.arena,
    strategy: harbor.multi_step_reward_strategy,
    ...findKnownSubmissions(directory.files, harbor.solution.env),
  };
  const allNotices = [...notices, ...steps.flatMap((step) => step.notices), ...listTaskNotices(content)];
  return { ...content, digest: digestTask(content), notices: allNotices };
}

function readHarbor(directory: TaskDirectory): ReturnType<typeof parseHarborTask> {
  const text = decodeText(directory, TASK_TOML);
  if (text !== undefined) return parseHarborTask(`${directory.where}/${TASK_TOML}`, text);
  throw new InputError(
    'task.missing',
    `${directory.where}: ${TASK_TOML} is missing; expected a task directory: ${TASK_TOML}, instruction.md, environment/, tests/, solution/ ("muster task new" makes one)`,
  );
}

function readMuster(directory: TaskDirectory, path: string): MusterTask {
  const text = decodeText(directory, path);
  return text === undefined ? musterTaskSchema.parse({}) : parseMusterTask(`${directory.where}/${path}`, text);
}

function getId({ where, name }: TaskDirectory, { task }: HarborTask): TaskId {
  const id = task?.name ?? name;
  if (isTaskId(id)) return id;
  throw new InputError(
    INVALID,
    `${where}: the directory's name is the task's id: ${TASK_ID_EXPECTED}, got "${id}"; rename it, or give [task] name`,
  );
}

/** A task without steps is one step, whose directory is the task's own. */
function getSteps(directory: TaskDirectory, harbor: HarborTask, muster: MusterTask): readonly StepParts[] {
  const { agent, verifier, artifacts } = harbor;
  if (harbor.steps === undefined) return [{ name: 'task', directory: '', agent, verifier, artifacts, leastReward: -Infinity, muster }];
  const names = new Set<string>();
  return harbor.steps.map((step, at) => {
    if (names.has(step.name))
      throw new InputError(
        INVALID,
        `${directory.where}/${TASK_TOML}: steps[${at}].name: "${step.name}" occurs twice; expected different names`,
      );
    names.add(step.name);
    const own = `steps/${step.name}/`;
    const least = typeof step.min_reward === 'object' ? step.min_reward['reward'] : step.min_reward;
    return {
      name: step.name,
      directory: own,
      agent: { ...agent, ...step.agent },
      // A step's own time limit is Harbor's default and not the task's.
      verifier: { ...verifier, ...step.verifier, env: { ...verifier.env, ...step.verifier.env } },
      artifacts: step.artifacts.length > 0 ? step.artifacts : artifacts,
      leastReward: least ?? -Infinity,
      muster: readMuster(directory, `${own}${MUSTER_TOML}`),
    };
  });
}

function listTaskNotices({
  oracle,
  cheats,
  steps,
}: Pick<Task, 'oracle' | 'cheats'> & { readonly steps: readonly TaskStep[] }): readonly string[] {
  const notices: string[] = [];
  if (oracle === undefined) notices.push('solution/ is missing: the task cannot be checked; add the solution that has to score 1');
  if (cheats.length === 0) notices.push('cheats/ is missing: nothing shows that the verifier can be relied on');
  for (const { name, verifier } of steps) {
    if (verifier.kind === 'script') continue;
    const { execute } = verifier;
    if (execute.kind === 'suite' && execute.boundary === 'shared' && execute.tripwires.length === 0)
      notices.push(`step "${name}": tests share a process with the candidate and have no tripwires: one that rewrites the report passes`);
  }
  return notices;
}

const SCRIPT = 'solve.sh';
const SOLUTION = /^(steps\/[^/]+\/)?solution\//;

type Known = Pick<Task, 'oracle' | 'cheats' | 'twins'>;

/** Finds the task's own submissions: `solution/`, of the task or of its steps, and each directory in `cheats/` and `twins/`. */
function findKnownSubmissions(files: readonly TaskFile[], environment: Readonly<Record<string, string>>): Known {
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
