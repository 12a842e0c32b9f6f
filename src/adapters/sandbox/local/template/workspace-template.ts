import { join } from 'node:path';
import type { TemplateContext, WorkspaceSettings } from '../../../../pool/ports/provider-plugin.ts';
import type { Mount, SandboxTemplate, Zygote } from '../../../../pool/ports/template.ts';
import { type CarriedInterpreter, findCarriedInterpreter } from './carried-interpreter.ts';
import { findOwnPython } from './own-python.ts';

/** Sandboxes have Muster's own programs here. */
const RUNNER_INSIDE = '/muster/runner';
const PYTHON_INSIDE = '/muster/python';
const LIBRARIES_INSIDE = `${PYTHON_INSIDE}/lib`;

/**
 * Creates a workspace: a root file system, and the program that communicates with Muster. That program brings its own interpreter and starts it by
 * its own loader, so the root file system needs no Python, and may have another C library.
 *
 * @throws InfrastructureError `python.unusable`.
 */
export async function createWorkspaceTemplate(
  name: string,
  { root, writable, limits, demands, mounts, start }: WorkspaceSettings,
  { projectDirectory, signal }: TemplateContext,
): Promise<SandboxTemplate> {
  const runner = join(projectDirectory, 'runner');
  const interpreter = await findCarriedInterpreter(findOwnPython(projectDirectory).path, runner, signal);
  const places = ['/tmp', '/dev/shm', ...writable];
  return {
    name,
    command: [...listStart(interpreter), `${RUNNER_INSIDE}/workspace.py`, ...places.flatMap((each) => ['--writable', each])],
    environment: {},
    mounts: [...getMounts(interpreter), { source: runner, target: RUNNER_INSIDE }, ...mounts],
    network: 'none',
    limits,
    demands,
    workspace: { root, writable },
    ...(start === 'plain' ? {} : { zygote: describeZygote(interpreter, start === 'forked') }),
  };
}

function describeZygote(interpreter: CarriedInterpreter, isRequired: boolean): Zygote {
  const python = `${PYTHON_INSIDE}/bin/${getFileName(interpreter.executable)}`;
  return { python, start: listStart(interpreter), program: `${RUNNER_INSIDE}/zygote.py`, imports: [], isRequired };
}

function listStart({ loader, executable }: CarriedInterpreter): readonly string[] {
  const isolated = ['-I', '-S', '-B'];
  return [getInsidePath(loader), '--library-path', LIBRARIES_INSIDE, `${PYTHON_INSIDE}/bin/${getFileName(executable)}`, ...isolated];
}

/** The interpreter finds its library beside the directory that it is in. */
function getMounts({ loader, libraries, executable, standardLibrary }: CarriedInterpreter): readonly Mount[] {
  return [
    { source: executable, target: `${PYTHON_INSIDE}/bin/${getFileName(executable)}` },
    { source: standardLibrary, target: `${LIBRARIES_INSIDE}/${getFileName(standardLibrary)}` },
    { source: loader, target: getInsidePath(loader) },
    ...libraries.flatMap((source) => listSoughtNames(source).map((name) => ({ source, target: `${LIBRARIES_INSIDE}/${name}` }))),
  ];
}

/** A library is linked with by a name that leaves out some of its version's parts: libffi.so.8.1.2 by libffi.so.8. */
function listSoughtNames(library: string): readonly string[] {
  const [stem = '', version = ''] = getFileName(library).split('.so', 2);
  const parts = version.split('.').slice(1);
  return [0, ...parts.keys().map((i) => i + 1)].map((count) => [`${stem}.so`, ...parts.slice(0, count)].join('.'));
}

function getInsidePath(library: string): string {
  return `${LIBRARIES_INSIDE}/${getFileName(library)}`;
}

function getFileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
