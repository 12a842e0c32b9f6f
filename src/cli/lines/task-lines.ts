import type { ListedTask } from '../../app/tasks/task-catalogue.ts';
import type { RootFileSystem, Task, TaskStep, Verifier } from '../../agents/tasks/task.ts';
import { formatBytes, formatCount } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { alignColumns } from './columns.ts';
import { formatTable, formatWarnings, type Row } from './table-lines.ts';

/** Formats a task for a person who has not seen it. */
export function formatTask(task: Task): readonly string[] {
  const { id, digest, description, workspace, limits, steps, files, oracle, cheats, twins, notices } = task;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const rows: readonly Row[] = [
    ['digest', digest],
    ...(description === '' ? [] : [['about', escapeUnprintableLine(description)] as const]),
    ['workspace', `${formatRoot(workspace.root)}, ${workspace.workdir}, network ${workspace.network.mode}`],
    ['limits', formatLimits(limits)],
    ['files', `${formatCount(files.length)}, ${formatBytes(bytes)}`],
    ['oracle', oracle === undefined ? 'none' : `${oracle.directory} (${oracle.kind})`],
    ['cheats', cheats.map(({ name }) => name).join(', ') || 'none'],
    ['honest twins', twins.map(({ name }) => name).join(', ') || 'none'],
  ];
  return [id, ...formatTable(rows), ...steps.flatMap((step) => formatStepLines(step, steps.length > 1)), ...formatWarnings(notices)];
}

function formatStepLines({ name, instruction, artifacts, verifier, agent }: TaskStep, isOneOfSeveral: boolean): readonly string[] {
  const rows: readonly Row[] = [
    ...(isOneOfSeveral ? [['step', name] as const] : []),
    ['artifacts', artifacts.map(({ source }) => escapeUnprintableLine(source)).join(', ')],
    ['time', agent.timeoutSeconds === undefined ? 'no limit' : `${agent.timeoutSeconds} s`],
    ['judged by', describeVerifier(verifier)],
  ];
  return ['', ...formatTable(rows), '', ...instruction.split('\n').map((line) => `    ${escapeUnprintableLine(line)}`.trimEnd())];
}

/** Formats one line for each task, or for the reason why a directory is no task. */
export function formatTaskList(tasks: readonly ListedTask[]): readonly string[] {
  const rows = tasks.map(({ directory, task, problem }) =>
    task === null
      ? [directory, 'cannot be read', escapeUnprintableLine(problem)]
      : [directory, describeVerifier(task.steps[0].verifier), escapeUnprintableLine(task.description)],
  );
  return alignColumns([['DIRECTORY', 'JUDGED BY', 'ABOUT'], ...rows]);
}

function describeVerifier(verifier: Verifier): string {
  if (verifier.kind === 'script') return 'tests/test.sh';
  const { compile, execute, constraints, score } = verifier;
  const executed =
    execute.kind === 'suite' ? `${execute.runner} (${execute.failToPass.length} to pass, ${execute.passToPass.length} to go on)` : 'cases';
  return [
    ...(compile === undefined ? [] : ['compile']),
    executed,
    ...(constraints.length === 0 ? [] : [constraints.map(({ measure }) => measure).join(' + ')]),
    ...(['speed', 'efficiency'] as const).filter((name) => score.weights[name] > 0),
  ].join(', ');
}

function formatRoot(root: RootFileSystem): string {
  switch (root.kind) {
    case 'host':
      return "this machine's root file system";
    case 'image':
      return `image ${escapeUnprintableLine(root.image)}`;
    case 'dockerfile':
      return `built from ${root.path}`;
  }
}

function formatLimits({ cpus, memoryBytes, storageBytes }: Task['limits']): string {
  const given = [
    ...(cpus === undefined ? [] : [cpus === 1 ? '1 processor' : `${cpus} processors`]),
    ...(memoryBytes === undefined ? [] : [`${formatBytes(memoryBytes)} memory`]),
    ...(storageBytes === undefined ? [] : [`${formatBytes(storageBytes)} storage`]),
  ];
  return given.join(', ') || "the sandbox's own";
}
