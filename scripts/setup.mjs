#!/usr/bin/env node
/**
 * Installs what is missing, and only that: npm packages (among them the Node that Muster runs on), a Python environment
 * for the runner, bubblewrap. Plain JavaScript without dependencies, because it runs first, on whatever Node is there.
 *
 *   node scripts/setup.mjs           what Muster needs to run
 *   node scripts/setup.mjs --bench   and what its benchmarks need
 *   node scripts/setup.mjs --test    and what its tests need
 *   node scripts/setup.mjs --training    and the libraries that people train with: 6 GB
 *   node scripts/setup.mjs --agentic     and trainers of language models: 8 GB, with a Python 3.12
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { test: forTests, bench: forBenchmarks, training: forTraining, agentic: forAgentic } = readOptions();
const asRoot = process.getuid?.() === 0;

function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

/** @returns the options that are listed at the top of this file. */
function readOptions() {
  const flag = { type: 'boolean' };
  try {
    return parseArgs({ options: { bench: flag, test: flag, training: flag, agentic: flag } }).values;
  } catch (error) {
    say(`${error.message}; expected --bench, --test, --training or --agentic, or none: what Muster needs to run`);
    process.exit(2);
  }
}

/** What ends the set-up, as its last line says it. */
class Failure extends Error {}

function fail(text) {
  throw new Failure(text);
}

/**
 * Goes through the steps. A signal of the terminal also reaches the program of a step, and npm takes back what it has installed before it
 * ends. So the set-up ends only after that program: another set-up would otherwise install into the same directory beside it.
 */
async function goThrough(steps) {
  for (const [signal, code] of [
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, () => {
      say('interrupted; the next set-up goes on from here');
      process.exit(code);
    });
  }
  let failure;
  for (const step of steps) {
    try {
      step();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failure = error;
    }
    // Steps run without the event loop, in which signals are received.
    await setImmediate();
    if (failure === undefined) continue;
    say(failure.message);
    process.exit(3);
  }
}

/** Runs a step whose output matters only when it fails. */
function run(what, command, args, options = {}) {
  say(what);
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20, ...options });
  if (result.status === 0) return true;
  if (options.optional) return false;
  process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  fail(`${command} ${args.join(' ')} failed${result.error ? `: ${result.error.message}` : ''}`);
}

function works(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Skips a step if its inputs have not changed since it was last done. */
function once(stampFile, inputs, step) {
  const stamp = createHash('sha256')
    .update(inputs.map((input) => (existsSync(input) ? readFileSync(input) : input)).join('\0'))
    .digest('hex');
  const path = join(root, stampFile);
  if (existsSync(path) && readFileSync(path, 'utf8') === stamp) return;
  step();
  // A new file replaces the stamp. If the checkout is a copy by hard links, writing into the file would change the other checkout's stamp,
  // too.
  writeFileSync(`${path}.new`, stamp);
  renameSync(`${path}.new`, path);
}

/** npm and pip would empty or change the target of a link, which holds another checkout's packages. */
function refuseLinks() {
  for (const name of [
    'node_modules',
    '.venv',
    '.venv-torch',
    '.venv-keras',
    '.venv-moto',
    '.venv-openenv',
    '.venv-training',
    '.venv-agentic',
    '.venv-gyms',
    '.venv-programs',
    '.tools',
  ]) {
    const isLink = lstatSync(join(root, name), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    if (isLink) fail(`${name} is a symbolic link, and what it leads to would be changed; remove the link, then run this again`);
  }
}

function installPackages() {
  once('node_modules/.setup-stamp', [join(root, 'package-lock.json')], () => {
    run('installing npm packages', 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  });
}

function findPython() {
  const candidates = [process.env.PYTHON, 'python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'].filter(Boolean);
  const found = candidates.find((python) => works(python, ['-c', 'import sys; sys.exit(sys.version_info < (3, 11))']));
  return (
    found ??
    fail('no Python of at least 3.11 was found; install one (for example: apt-get install python3 python3-venv) or name it in PYTHON')
  );
}

/** An interrupted set-up leaves an interpreter without pip. */
function isComplete(directory) {
  return works(join(root, directory, 'bin/python'), ['-m', 'pip', '--version']);
}

/** Makes a Python environment where there is no complete one. The packages of a complete environment stay. */
function makeEnvironment(directory, python = findPython) {
  if (isComplete(directory)) return;
  run(`making a Python environment in ${directory}`, python(), ['-m', 'venv', directory]);
}

function installPython() {
  const testRequirements = ['test/runner/python/requirements.txt', 'clients/python/requirements-test.txt'];
  const more = [...(forBenchmarks || forTests ? ['bench/requirements.txt'] : []), ...(forTests ? testRequirements : [])];
  const requirements = ['runner/requirements.txt', ...more].map((file) => join(root, file));
  const stamp = `.venv/.setup-stamp${forTests ? '-test' : forBenchmarks ? '-bench' : ''}`;
  once(stamp, requirements, () => {
    makeEnvironment('.venv');
    const flags = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    run('installing Python packages', join(root, '.venv/bin/python'), [...flags, ...requirements.flatMap((file) => ['-r', file])]);
  });
}

/** Installs the packages that run tasks' tests, in a directory of their own, because sandboxes see it and not Muster's environment. */
function installTestTools() {
  const requirements = join(root, 'runner/requirements-tests-of-tasks.txt');
  const directory = join(root, '.tools/pytest');
  if (!existsSync(directory)) mkdirSync(directory, { recursive: true });
  once('.tools/pytest/.setup-stamp', [requirements], () => {
    const flags = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--upgrade', '--target', directory];
    run('installing pytest for the tests of tasks', join(root, '.venv/bin/python'), [...flags, '-r', requirements]);
    run('compiling it', join(root, '.venv/bin/python'), ['-m', 'compileall', '-q', directory]);
  });
}

/** Compiles the runner. Its files are read-only in a sandbox, so each sandbox would compile them for itself. Compiled files are skipped. */
function compileRunner() {
  const directories = ['runner/muster_runner', 'runner/muster_zygote'];
  if (works(join(root, '.venv/bin/python'), ['-m', 'compileall', '-q', ...directories.map((name) => join(root, name))])) return;
  say('the runner could not be compiled beforehand: sandboxes that are not forked will start more slowly');
}

const INSTALLERS = [
  ['apt-get', ['install', '-y', '--no-install-recommends']],
  ['dnf', ['install', '-y']],
  ['zypper', ['--non-interactive', 'install']],
  ['pacman', ['-S', '--noconfirm']],
  ['apk', ['add']],
];

/** Installs a package of the distribution if that is possible without a password. */
function installSystemPackage(name) {
  const [manager, args] = INSTALLERS.find(([command]) => works('sh', ['-c', `command -v ${command}`])) ?? [];
  if (!manager) return false;
  const prefix = asRoot ? [] : ['sudo', '-n'];
  if (!asRoot && !works('sudo', ['-n', 'true'])) return false;
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const attempt = () => {
    const [command, ...rest] = [...prefix, manager, ...args, name];
    return run(`installing ${name}`, command, rest, { optional: true, env: environment });
  };
  if (attempt()) return true;
  if (manager !== 'apt-get') return false;
  const [command, ...rest] = [...prefix, 'apt-get', 'update'];
  run('updating the package lists', command, rest, { optional: true, env: environment });
  return attempt();
}

function installBubblewrap() {
  if (works('bwrap', ['--version']) || installSystemPackage('bubblewrap')) return;
  fail(
    "bubblewrap is missing and installing it needs an administrator: sudo apt-get install bubblewrap (or your distribution's command), then run this again",
  );
}

/** Installs the distribution's PyTorch for TorchScript policies and the training loop: an eighth of the download from PyPI. */
function installTorch() {
  const requirements = 'test/runner/python/requirements-torch.txt';
  if (!isComplete('.venv-torch') && !makeTorchEnvironment()) return;
  once('.venv-torch/.setup-stamp', [join(root, requirements)], () => {
    const flags = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    run('installing what is used beside torch', join(root, '.venv-torch/bin/python'), [...flags, '-r', requirements]);
  });
}

/** Returns false, after a message, when this machine cannot install it. */
function makeTorchEnvironment() {
  const python = '/usr/bin/python3';
  if (!works(python, ['-c', 'import torch']) && !installSystemPackage('python3-torch')) {
    say('python3-torch cannot be installed here: the TorchScript tests will say that they were skipped');
    return false;
  }
  if (!works(python, ['-c', 'import ensurepip']) && !installSystemPackage('python3-venv')) {
    say('python3-venv is missing: the TorchScript tests will be skipped');
    return false;
  }
  return run('making a Python environment with torch in .venv-torch', python, ['-m', 'venv', '--system-site-packages', '.venv-torch']);
}

/** Installs gVisor, if the distribution has it, for the tests of sandboxes under gVisor: some 6 MB. */
function installGvisor() {
  if (works('runsc', ['--version']) || installSystemPackage('runsc')) return;
  say('runsc cannot be installed here: the gVisor tests will say that they were skipped');
}

/** Installs Docker for the tests of sandboxes in containers, which start a daemon of their own as root: some 200 MB. */
function installDocker() {
  if (!asRoot || existsSync('/usr/sbin/dockerd') || installSystemPackage('docker.io')) return;
  say('docker.io cannot be installed here: the tests of containers will say that they were skipped');
}

/** Installs valgrind, which counts instructions of submissions, and BusyBox and musl, with which tests try other root file systems. */
function installGradingTools() {
  const tools = { valgrind: '/usr/bin/valgrind', 'busybox-static': '/bin/busybox', 'musl-tools': '/usr/bin/musl-gcc' };
  for (const [name, file] of Object.entries(tools))
    if (!existsSync(file) && !installSystemPackage(name)) fail(`${name} is missing: sudo apt-get install ${name}, then run this again`);
}

/** Installs Chromium, in which tests look at reports. */
function installBrowser() {
  const isThere = ['chromium', 'chromium-browser', 'google-chrome'].some((name) => works('sh', ['-c', `command -v ${name}`]));
  if (isThere || installSystemPackage('chromium')) return;
  fail('a browser is missing and installing it needs an administrator: sudo apt-get install chromium, then run this again');
}

/** Installs PostgreSQL. Tests start a server of their own for the store that several Musters share. */
function installPostgres() {
  const isThere = ['/usr/lib/postgresql/*/bin/initdb', '/usr/bin/initdb', '/usr/local/bin/initdb'].some((pattern) =>
    works('sh', ['-c', `ls ${pattern}`]),
  );
  if (isThere || installSystemPackage('postgresql')) return;
  fail('PostgreSQL is missing and installing it needs an administrator: sudo apt-get install postgresql, then run this again');
}

/** Installs Redis and Valkey. Tests start servers of their own for the live state of episodes. */
function installRedis() {
  if (!existsSync('/usr/bin/redis-server') && !installSystemPackage('redis-server'))
    say('redis-server cannot be installed here: its tests will say that they were skipped');
  const places = ['/usr/bin/valkey-server', join(root, '.tools/valkey/usr/bin/valkey-server')];
  if (places.some((place) => existsSync(place)) || unpackBackport('valkey', ['valkey-server', 'valkey-tools'])) return;
  if (!installSystemPackage('valkey-server')) say('valkey-server cannot be installed here: its tests will say that they were skipped');
}

/** Unpacks packages of Debian 12's backports into .tools. The machine's own package lists stay unchanged. */
function unpackBackport(name, packages) {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  if (!/^ID=debian$/m.test(release) || !/^VERSION_CODENAME=bookworm$/m.test(release)) return false;
  const directory = join(root, '.tools', name);
  const lists = join(directory, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  const sources = join(directory, 'backports.list');
  writeFileSync(sources, 'deb http://deb.debian.org/debian bookworm-backports main\n');
  const own = ['-o', `Dir::Etc::sourcelist=${sources}`, '-o', 'Dir::Etc::sourceparts=-', '-o', `Dir::State::lists=${lists}`];
  const options = { cwd: directory, optional: true };
  if (!run(`looking for ${name} in Debian's backports`, 'apt-get', ['-q', ...own, 'update'], options)) return false;
  if (!run(`fetching ${name}`, 'apt-get', ['-q', ...own, 'download', ...packages], options)) return false;
  return run(`unpacking ${name}`, 'sh', ['-c', 'for package in *.deb; do dpkg -x "$package" .; done'], options);
}

const FAKE_GCS = 'github.com/fsouza/fake-gcs-server@v1.56.1';

/** Builds a server of Google Cloud Storage's protocol that checks generations. That takes one and a half minutes, once. */
function installFakeGcs() {
  // Go's installation instructions put it there, and that is not always in the path.
  const go = ['go', '/usr/local/go/bin/go'].find((command) => works(command, ['version']));
  if (go === undefined) {
    say('Go is missing (https://go.dev/dl): the tests against a server of Google Cloud Storage will say that they were skipped');
    return;
  }
  mkdirSync(join(root, '.tools'), { recursive: true });
  once('.tools/.fake-gcs-stamp', [FAKE_GCS], () => {
    run('building fake-gcs-server', go, ['install', FAKE_GCS], { env: { ...process.env, GOBIN: join(root, '.tools') } });
  });
}

/** Makes a further Python environment, for packages that are large or need other versions than the runner's tests do. */
function installBeside(environment, requirements, python = findPython) {
  once(`${environment}/.setup-stamp`, [join(root, requirements)], () => {
    makeEnvironment(environment, python);
    const flags = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', join(root, requirements)];
    run(`installing ${requirements}`, join(root, environment, 'bin/python'), flags);
  });
}

/**
 * Installs the real client of OpenEnv. Its package requires a web interface and language models, 600 MB that a client never imports. So the
 * packages that it does import are listed here, and the package itself is installed without its requirements.
 */
function installOpenEnv() {
  installBeside('.venv-openenv', 'test/end-to-end/arena/requirements-openenv.txt');
  const client = 'openenv-core==0.3.0';
  once('.venv-openenv/.client-stamp', [client], () => {
    const flags = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', client];
    run(`installing ${client}`, join(root, '.venv-openenv/bin/python'), flags);
  });
}

/**
 * Finds a Python 3.12, which Harbor and SkyRL require and verl accepts at most. pyenv's command does not start a version that is not
 * selected, so its directories are searched.
 */
function findPython312() {
  const versions = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions');
  const own = existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, 'bin/python3.12')) : [];
  const candidates = [process.env.PYTHON, 'python3.12', ...own].filter(Boolean);
  const found = candidates.find((python) => works(python, ['-c', 'import sys; sys.exit(sys.version_info[:2] != (3, 12))']));
  return found ?? fail('no Python 3.12 was found; install one, or name it in PYTHON');
}

/** Installs trainers of language models, and gyms. Their requirements contradict each other, and include servers that no test starts. */
function installAgentic() {
  installBeside('.venv-agentic', 'clients/python/tests/agentic/requirements.txt', findPython312);
  installBare('.venv-agentic', ['skyrl==0.4.0', 'skyrl-gym==0.4.0', 'verl==0.9.1']);
  installBeside('.venv-gyms', 'clients/python/tests/gyms/requirements.txt', findPython312);
  installBare('.venv-gyms', ['nemo-gym==0.4.0']);
}

/** Installs packages without their requirements. */
function installBare(environment, packages) {
  once(`${environment}/.bare-stamp`, packages, () => {
    const flags = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', ...packages];
    run(`installing ${packages.join(', ')}`, join(root, environment, 'bin/python'), flags);
  });
}

const forTestsOnly = [
  installTorch,
  installGvisor,
  installDocker,
  installGradingTools,
  installBrowser,
  installPostgres,
  installRedis,
  // The real TensorFlow, for a training loop and Keras models: 1.6 GB.
  () => installBeside('.venv-keras', 'test/runner/python/requirements-keras.txt'),
  () => installBeside('.venv-moto', 'test/adapters/checkpoints/requirements-moto.txt'),
  installOpenEnv,
  installFakeGcs,
];
await goThrough([
  refuseLinks,
  installPackages,
  installPython,
  installTestTools,
  compileRunner,
  installBubblewrap,
  ...(forTests ? forTestsOnly : []),
  ...(forTraining ? [() => installBeside('.venv-training', 'clients/python/tests/training/requirements.txt')] : []),
  // Also programs that are agents. Most of their size is clients of providers of models.
  ...(forAgentic ? [installAgentic, () => installBeside('.venv-programs', 'test/end-to-end/requirements-programs.txt')] : []),
]);
say(`ready (Node ${execFileSync(join(root, 'node_modules/.bin/node'), ['--version'], { encoding: 'utf8' }).trim()})`);
