import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { bindWithDirectories, buildSystemArguments } from '../../../src/adapters/sandbox/bubblewrap/command/command-line.ts';
import { listSystemFiles, readSystemView } from '../../../src/adapters/sandbox/local/template/system-view.ts';
import type { Mount } from '../../../src/pool/ports/template.ts';
import { killGroup } from '../root-command.ts';

export interface StepContainer {
  /** Its exit code, once nothing of it is left. */
  readonly ended: Promise<number>;
  kill(): void;
}

/** What a real step has beside the files of its image, and no program of a sandbox may see. */
export const STEPS_OWN = ['/var/run/docker.sock', '/builder/home/.docker/config.json', '/workspace'];

/** Why no step can be run here; undefined where one can. */
export function explainMissingSteps(): string | undefined {
  return process.getuid?.() === 0 ? undefined : 'steps of builds are root’s containers, which take root';
}

/** A privileged container with the network of this machine, in which what is written is forgotten at its end. */
export async function startStep(
  command: readonly string[],
  variables: readonly string[],
  layers: readonly Mount[],
): Promise<StepContainer> {
  const environment = ['PATH=/usr/bin:/bin:/usr/sbin:/sbin', 'HOME=/builder/home', ...variables].flatMap((each) => {
    const at = each.indexOf('=');
    return ['--setenv', each.slice(0, at), each.slice(at + 1)];
  });
  const system = [
    ...buildSystemArguments(await readSystemView()),
    ...[...listSystemFiles('none'), '/etc/passwd', '/etc/group'].flatMap((file) => bindWithDirectories(file, file, '--ro-bind-try')),
  ];
  const own = STEPS_OWN.flatMap((path) => (path === '/workspace' ? ['--dir', path] : ['--ro-bind', '/dev/null', path]));
  const files = [...system, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', ...own];
  const mounts = layers.flatMap(({ source, target }) => bindWithDirectories(source, target));
  const walls = ['--unshare-pid', '--die-with-parent', '--cap-add', 'ALL', '--clearenv', ...environment];
  const child = spawn('bwrap', [...walls, ...files, ...mounts, '--chdir', '/workspace', '--', ...command], {
    stdio: 'ignore',
    detached: true,
  });
  const ended = once(child, 'exit').then(() => child.exitCode ?? 137);
  return { ended, kill: () => killGroup(child) };
}
