/**
 * Builds the container images of the server and of what sandboxes are made of: muster:VERSION,
 * muster-runner:VERSION and, with --cloud-build, muster-cloud-build:VERSION, which is built with a network.
 *
 *   npm run images [-- --node-image NAME --python-image NAME --python 3.12]
 *
 * What goes in is fetched here, by the npm and pip of this machine with their settings, so that the builds need no network but for their base
 * images, and no credentials come into an image. Docker builds, or buildah where there is no daemon.
 */
import { spawnSync } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { endOnClosedOutput } from '../../src/cli/terminal/output.ts';
import { bundlePage } from './page-bundle.ts';
import { answerOptions } from '../script-options.ts';
import { copyRunner, DIST, emptied, manifest, ROOT, run } from './package-files.ts';

/** The version of Python for which packages are fetched, beside the names of the base images. */
const OPTIONS = {
  'node-image': { type: 'string', default: 'node:24-bookworm-slim' },
  'python-image': { type: 'string', default: 'python:3.12-slim-bookworm' },
  python: { type: 'string', default: '3.12' },
  'cloud-build': { type: 'boolean', default: false },
} as const;
endOnClosedOutput(process);
answerOptions('npm run images -- [--node-image NAME] [--python-image NAME] [--python VERSION] [--cloud-build]\n', OPTIONS);
const { values: options } = parseArgs({ options: OPTIONS });
/** Platforms of wheels that run on the C library of Debian 12, and on others of its age. */
const PLATFORMS = ['manylinux_2_28_x86_64', 'manylinux_2_27_x86_64', 'manylinux_2_17_x86_64', 'manylinux2014_x86_64'];
const OF_SERVER = ['package.json', 'package-lock.json', 'config', 'src'];

const builder = findBuilder();
const { version } = await manifest();
build('muster.Dockerfile', await stageServer(), `muster:${version}`, options['node-image']);
build('runner.Dockerfile', await stageRunner(), `muster-runner:${version}`, options['python-image']);
if (options['cloud-build']) {
  const stage = await emptied(join(DIST, 'images/cloud-build'));
  build('cloud-build.Dockerfile', stage, `muster-cloud-build:${version}`, `muster-runner:${version}`, 'default');
}

/** Copies the program as it is in a checkout, with the packages of a production install. */
async function stageServer(): Promise<string> {
  const stage = await emptied(join(DIST, 'images/muster'));
  for (const name of OF_SERVER) await cp(join(ROOT, name), join(stage, name), { recursive: true });
  await bundlePage(join(stage, 'src/faces/page/browser'));
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', stage]);
  return stage;
}

/** Copies the runner, and the packages that it imports as wheels. */
async function stageRunner(): Promise<string> {
  const stage = await emptied(join(DIST, 'images/runner'));
  await copyRunner(join(stage, 'files/runner'));
  await mkdir(join(stage, 'wheels'));
  const target = ['--only-binary=:all:', `--python-version=${options.python}`, '--implementation=cp'];
  const platforms = PLATFORMS.map((platform) => `--platform=${platform}`);
  const from = ['-r', join(ROOT, 'runner/requirements.txt'), '--dest', join(stage, 'wheels')];
  run(join(ROOT, '.venv/bin/python'), [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--disable-pip-version-check',
    ...target,
    ...platforms,
    ...from,
  ]);
  return stage;
}

function build(file: string, stage: string, name: string, base: string, network = 'none'): void {
  const dockerfile = join(ROOT, 'deploy/docker', file);
  run(builder, ['build', `--network=${network}`, '--build-arg', `BASE=${base}`, '-f', dockerfile, '-t', name, stage]);
  process.stdout.write(`${name}\n`);
}

/** Finds the program that builds images. Ends the process when there is none, with a message that says what to install. */
function findBuilder(): 'docker' | 'buildah' {
  if (spawnSync('docker', ['version'], { stdio: 'ignore' }).status === 0) return 'docker';
  if (spawnSync('buildah', ['--version'], { stdio: 'ignore' }).status === 0) return 'buildah';
  process.stderr.write(
    `${basename(import.meta.filename)}: no docker daemon answers, and there is no buildah; start one (DOCKER_HOST names another socket), or install one\n`,
  );
  process.exit(3);
}
