import { execFile } from 'node:child_process';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { GO_BUILD_INSIDE, type GradingTool, PYTEST_INSIDE } from '../../agents/grading/grading-sandboxes.ts';
import { getMessage, InfrastructureError } from '../../kernel/errors.ts';
import { PACKAGE_ROOT } from '../../kernel/package-root.ts';
import type { Mount } from '../../pool/ports/template.ts';

/** Go's own installer and distributions put it here. Sandboxes search these paths, too. */
const GO_PATH = ['/usr/local/go/bin', '/usr/local/bin', '/usr/bin'].join(delimiter);
const GO_BUILD_MILLISECONDS = 900_000;
const building = new Map<string, Promise<void>>();

/** Finds a test tool on this machine. @throws InfrastructureError `tool.missing` when it has not been installed. */
export async function findToolMount(tool: GradingTool): Promise<Mount> {
  if (typeof tool === 'object') return tool;
  switch (tool) {
    case 'pytest':
      return { source: await findPytest(), target: PYTEST_INSIDE };
    case 'go':
      return { source: await findGoBuild(), target: GO_BUILD_INSIDE };
  }
}

async function findPytest(): Promise<string> {
  const source = join(PACKAGE_ROOT, '.tools', 'pytest');
  try {
    await stat(source);
  } catch (cause) {
    throw new InfrastructureError(
      'tool.missing',
      `pytest is not installed in ${source}; run npm run setup in a checkout, or install the package again`,
      { cause },
    );
  }
  return source;
}

/** Builds it once: without it every run of Go's tests would compile Go's own packages. */
async function findGoBuild(): Promise<string> {
  const source = join(PACKAGE_ROOT, '.tools', 'go-build');
  if ((await stat(source).catch(() => undefined)) !== undefined) return source;
  const made = building.get(source) ?? buildGo(source).finally(() => building.delete(source));
  building.set(source, made);
  await made;
  return source;
}

async function buildGo(target: string): Promise<void> {
  const part = `${target}.${process.pid}`;
  const environment = { PATH: GO_PATH, HOME: part, GOCACHE: part, GOFLAGS: '-buildvcs=false', GOTOOLCHAIN: 'local', GOPROXY: 'off' };
  try {
    await mkdir(part, { recursive: true });
    await promisify(execFile)('go', ['build', 'std'], { cwd: '/', env: environment, timeout: GO_BUILD_MILLISECONDS });
    await rename(part, target).catch(async (error: unknown) => {
      // Another process was faster.
      if ((await stat(target).catch(() => undefined)) === undefined) throw error;
    });
  } catch (cause) {
    throw new InfrastructureError('tool.missing', `Go's own packages cannot be compiled: ${getMessage(cause)}; install Go`, { cause });
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}
