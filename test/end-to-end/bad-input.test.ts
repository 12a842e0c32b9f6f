import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ANYTHING, CARTPOLE, LATE, REPOSITORY, Stage } from './stage.ts';

/** Bad input costs exit code 2 and one message, with these parts in this order; nothing on stdout could be taken for a result. */
function refusal(...parts: readonly string[]): unknown {
  const notices = new RegExp(`^(muster|error): [^]*${parts.map((part) => RegExp.escape(part)).join('[^]*')}`);
  return expect.objectContaining({ exitCode: 2, stdout: '', notices: expect.stringMatching(notices) });
}

describe('a suite', () => {
  it('with an unknown key is refused by file and key, with the nearest valid key', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { rewards: { bounds: [0, 1] } } });
    expect(await stage.call(['eval', suite, '--checkpoint', ANYTHING])).toEqual(refusal(`${suite}:1`, 'rewards', 'did you mean "reward"?'));
  });

  it('that is not there is refused by its path', async () => {
    await using stage = await Stage.open();
    const suite = stage.path('nowhere.yaml');
    expect(await stage.run(['eval', suite, '--checkpoint', LATE])).toEqual(refusal(suite, 'expected a YAML or JSON file'));
  });

  it('with a mistyped path is refused with the nearest existing path', async () => {
    await using stage = await Stage.open();
    await mkdir(stage.path('examples'));
    await stage.write('examples/game.yaml', '');
    const result = await stage.call(['eval', stage.path('exmples/game.yaml'), '--checkpoint', LATE]);
    expect(result).toEqual(refusal(stage.path('exmples/game.yaml'), `did you mean ${stage.path('examples/game.yaml')}?`));
  });

  it('whose directory of modules contains the suite file is refused: each file saved there would change the suite', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { files: '.' } });
    const result = await stage.call(['eval', suite, '--checkpoint', ANYTHING]);
    expect(result).toEqual(refusal(`${suite}:1: files: "." contains the suite file`, 'move its modules into one'));
  });

  it.each([
    ['that is not there', 'nowhere', 'does not exist'],
    ['below a file', 'suite.yaml/x', 'does not exist'],
    ['that is a file', 'module.py', 'is a file; expected'],
  ])('whose directory of modules is one %s is refused by the name of the setting', async (_, files, found) => {
    await using stage = await Stage.open();
    await writeFile(stage.path('module.py'), '');
    const suite = await stage.faultSuite({ changes: { files } });
    const expected = refusal('suite: files: ', files, found, ' a directory of Python modules');
    expect(await stage.call(['eval', suite, '--checkpoint', ANYTHING])).toEqual(expected);
    expect(await stage.call(['plan', suite])).toEqual(expected);
  });

  // The name is one that every object of JavaScript has.
  it('that names an unknown template is refused with the known names', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { template: 'constructor' } });
    expect(await stage.call(['eval', suite, '--checkpoint', ANYTHING])).toEqual(refusal('"constructor"', 'it has local'));
    const near = await stage.faultSuite({ changes: { template: 'lcal' } });
    expect(await stage.call(['eval', near, '--checkpoint', ANYTHING])).toEqual(refusal('"lcal"', 'did you mean "local"?'));
  });

  it('whose module does not exist is refused before an episode is played', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { environment: 'fault:Faulty' } });
    const result = await stage.call(['eval', suite, '--checkpoint', ANYTHING, '--out', stage.path('out')]);
    expect(result).toEqual(refusal('the environment was refused', 'task "faults"', 'there is no module "fault"'));
  });
});

describe('a checkpoint', () => {
  it('that is not there is refused by its path', async () => {
    await using stage = await Stage.open();
    const checkpoint = stage.path('step-9000.safetensors');
    expect(await stage.call(['eval', CARTPOLE, '--checkpoint', checkpoint])).toEqual(
      refusal(`${checkpoint} does not exist`, 'check the path'),
    );
  });

  it('with a mistyped name is refused with the nearest existing path', async () => {
    await using stage = await Stage.open();
    await stage.write('policy.safetensors', await readFile(LATE));
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', stage.path('polcy.safetensors')]);
    expect(result).toEqual(refusal('does not exist', `did you mean ${stage.path('policy.safetensors')}?`));
    const submitted = await stage.call(['submit', 'cartpole', '-c', stage.path('polcy.safetensors'), '--server', 'http://127.0.0.1:9']);
    expect(submitted).toEqual(refusal('does not exist', `did you mean ${stage.path('policy.safetensors')}?`));
  });

  it('that is a broken link is refused with the link’s target', async () => {
    await using stage = await Stage.open();
    const link = stage.path('link.safetensors');
    await symlink('gone.safetensors', link);
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', link]);
    expect(result).toEqual(refusal(`${link} is a symbolic link to gone.safetensors, which does not exist`));
  });

  it('that is an agent is refused on a suite of environments, and so is a directory as the suite', async () => {
    await using stage = await Stage.open();
    const expected = refusal('"oracle" is an agent, and this suite has environments');
    expect(await stage.call(['eval', CARTPOLE, '--agent', 'oracle'])).toEqual(expected);
    expect(await stage.call(['eval', stage.directory, '-c', LATE])).toEqual(refusal('it is a directory', 'expected a YAML or JSON file'));
  });

  it('that is an agent with a wrong field is refused by the field and what belongs there', async () => {
    await using stage = await Stage.open();
    const file = await stage.write('agent.yaml', 'agent: model\nmodel: x\nendpoint: localhost:8000\n');
    const result = await stage.call(['eval', 'examples/code/suite.yaml', '--agent', file]);
    expect(result).toEqual(
      refusal('endpoint: expected an http: or https: URL, such as', ', or the name of an endpoint in the configuration, got'),
    );
    expect(result.stderr).not.toContain('expected oracle');
  });

  it('in truncated safetensors is refused as truncated', async () => {
    await using stage = await Stage.open();
    const whole = await readFile(LATE);
    const checkpoint = await stage.write('cut.safetensors', whole.subarray(0, whole.length - 100));
    expect(await stage.call(['eval', CARTPOLE, '--checkpoint', checkpoint])).toEqual(
      refusal(checkpoint, 'bytes follow the header', 'looks truncated'),
    );
  });

  it('in safetensors whose header lies about offsets is refused by the name of the tensor', async () => {
    await using stage = await Stage.open();
    const lie = { a: { dtype: 'F32', shape: [2], data_offsets: [0, 4096] } };
    const header = Buffer.from(JSON.stringify(lie));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const checkpoint = await stage.write('lie.safetensors', Buffer.concat([length, header, Buffer.alloc(8)]));
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', checkpoint]);
    expect(result).toEqual(refusal(`${checkpoint}, tensor "a"`, 'data_offsets span 4096 bytes; expected 8 for shape [2] of F32'));
  });

  it('in ONNX that does not fit the observation is refused before an episode is played', async () => {
    await using stage = await Stage.open();
    const checkpoint = stage.path('six.onnx');
    writeOnnx(checkpoint, 6);
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', checkpoint, '--out', stage.path('out')]);
    expect(result).toEqual(refusal('the policy was refused', 'the model takes 6 numbers, the environment gives 4 (task "cartpole")'));
  });
});

describe('one of several checkpoints', () => {
  it('that is a directory of two policies is refused by its path, before there is a sandbox', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('no-sandbox.json', { templates: { local: { python: stage.path('no-python') } } });
    const run = stage.path('run');
    await mkdir(run);
    for (const name of ['early', 'late']) await writeFile(path.join(run, `${name}.safetensors`), await readFile(LATE));
    const said = `${run}: the checkpoint directory has 2 files of weights and no muster.json`;
    for (const args of [
      ['eval', CARTPOLE, '-c', run, '-c', LATE],
      ['compare', CARTPOLE, '-b', run, '-c', LATE],
    ])
      expect(await stage.run([...args, '--config', config])).toEqual(refusal(said, 'early.safetensors, late.safetensors'));
  });

  it('that does not fit is refused by its path, in an evaluation and in a comparison', async () => {
    await using stage = await Stage.open();
    const misfit = stage.path('six.onnx');
    writeOnnx(misfit, 6);
    const said = 'the policy was refused by the runner: the model takes 6 numbers, the environment gives 4';
    expect(await stage.call(['eval', CARTPOLE, '-c', misfit, '-c', LATE])).toEqual(refusal(`${misfit}: ${said}`));
    expect(await stage.call(['compare', CARTPOLE, '-b', LATE, '-c', LATE.replace('late', 'early'), '-c', misfit])).toEqual(
      refusal(`${misfit}: ${said}`),
    );
  });

  it('must be named if the results of several are given as a baseline', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: 8 } } });
    const [out, other] = [stage.path('out'), await stage.write('other.safetensors', await readFile(LATE))];
    expect((await stage.call(['eval', suite, '-c', ANYTHING, '-c', ANYTHING, '--out', out])).exitCode).toBe(0);
    const names = ['1', '2'].map((number) => path.join(out, `${number}-${path.basename(ANYTHING)}`));
    const expected = refusal(`${out} has the results of several checkpoints`, 'name one of them', ...names);
    expect(await stage.call(['compare', suite, '-b', out, '-c', other])).toEqual(expected);
    expect(await stage.call(['plan', suite, '--baseline', out])).toEqual(expected);
    expect(await stage.call(['rollouts', 'list', out])).toEqual(expected);
    expect(await stage.call(['rollouts', 'list', `${out}t`])).toEqual(refusal(`${out}t: does not exist`, `did you mean ${out}?`));
  });
});

describe('an empty text, as of a variable that is not set,', () => {
  it.each([
    ['--out', ['eval', CARTPOLE, '-c', LATE, '--out', '']],
    ['--checkpoint', ['eval', CARTPOLE, '-c', '']],
    ['--checkpoint', ['submit', 'cartpole', '-c', '', '--server', 'http://127.0.0.1:9']],
    ['suite', ['eval', '', '-c', LATE]],
    ['path', ['report', '']],
  ])('for %s is refused by its name', async (name, args) => {
    await using stage = await Stage.open();
    expect(await stage.call(args)).toEqual(refusal(`${name}: expected a value, got an empty text`));
  });

  it('and a directory are refused as the path of a report before anything is played', async () => {
    await using stage = await Stage.open();
    const result = await stage.call(['eval', CARTPOLE, '-c', LATE, '--report', stage.directory]);
    expect(result).toEqual(refusal(`--report ${stage.directory} cannot be written: it is a directory`));
  });
});

describe('a directory that cannot be made or written', () => {
  it.each([
    ['below a file', `${CARTPOLE}/state`],
    ['below /proc, where no directory can be made', '/proc/muster/state'],
  ])('%s is refused with the setting, whichever command needs it', async (_, directory) => {
    await using stage = await Stage.open();
    const environment = { MUSTER_STATE_DIR: directory };
    const commands = [['eval', CARTPOLE, '-c', LATE], ['serve'], ['token', 'create', 'ann', '--role', 'viewer']];
    for (const command of commands) expect(await stage.call(command, { environment })).toEqual(refusal(directory, 'may write to'));
    const { exitCode, stdout } = await stage.call(['doctor'], { environment });
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/^PROBLEM {2}disk [^]*MUSTER_STATE_DIR/m);
    expect(await stage.call(['eval', CARTPOLE, '-c', LATE, '--out', directory])).toEqual(refusal(`--out ${directory}`, 'you may write to'));
  });
});

describe('the configuration', () => {
  it.each([
    ['a wrong value', 'pool:\n  max: many\n', 'pool.max', 'expected "auto" or a whole number'],
    ['an unknown key', 'pool:\n  maxx: 4\n', 'pool.maxx', 'did you mean "max"?'],
    ['an invalid unit', 'checkpoints:\n  maxBytes: 20KB\n', 'checkpoints.maxBytes', '(B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)'],
  ])('with %s is refused by file, line, path and what was expected', async (_, text, setting, expected) => {
    await using stage = await Stage.open();
    const config = await stage.write('muster.yaml', text);
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', LATE, '--config', config]);
    expect(result).toEqual(refusal(`${config}:2`, setting, expected));
  });

  it('with a wrong value in an environment variable is refused by the variable’s name', async () => {
    await using stage = await Stage.open();
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', LATE], { environment: { MUSTER_POOL__MAX: '-1' } });
    expect(result).toEqual(refusal('environment variable MUSTER_POOL__MAX: pool.max', 'expected', 'got -1'));
  });

  it('with a template whose program cannot start is refused at once, and by doctor', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('muster.yaml', { templates: { local: { command: ['/opt/no-such-runner'] } } });
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', LATE, '--config', config]);
    expect(result).toEqual(
      refusal("the template's program cannot start", 'code 127', '/opt/no-such-runner: not found', 'correct the template'),
    );
    expect(result.notices).not.toContain('attempts');
    const { exitCode, stdout } = await stage.call(['doctor', '--config', config]);
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/^PROBLEM {2}runner +the template's program cannot start: .*\/opt\/no-such-runner: not found/m);
  });

  it('with a variable that sets nothing is refused', async () => {
    await using stage = await Stage.open();
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', LATE], { environment: { MUSTER_POOL__MAXX: '4' } });
    expect(result).toEqual(refusal('environment variable MUSTER_POOL__MAXX', 'did you mean "MUSTER_POOL__MAX"?'));
  });
});

describe('a flag', () => {
  it.each([
    ['--sandboxes 0', ['--sandboxes', '0'], 'expected a whole number from 1 on'],
    ['--episodes many', ['--episodes', 'many'], 'expected a whole number from 1 on'],
    ['--half-width 0', ['--half-width', '0'], 'expected a number above 0'],
    ['an unknown one', ['--sandbox', '4'], 'Did you mean --sandboxes?'],
  ])('%s is refused with what was expected', async (_, flags, expected) => {
    await using stage = await Stage.open();
    expect(await stage.call(['eval', CARTPOLE, '--checkpoint', LATE, ...flags])).toEqual(refusal(expected));
  });

  it.each(['--report', '--out'])('%s with a path where nothing can be made is refused before an episode is played', async (flag) => {
    await using stage = await Stage.open();
    expect(await stage.call(['eval', CARTPOLE, '-c', LATE, '--episodes', '2', flag, '/proc/x'])).toEqual(refusal('/proc/x'));
  });

  it('for a checkpoint is named if one is given beside the suite', async () => {
    await using stage = await Stage.open();
    expect(await stage.call(['eval', CARTPOLE, LATE])).toEqual(refusal('too many arguments', 'muster eval SUITE -c A -c B'));
    expect(await stage.call(['compare', CARTPOLE, LATE, LATE])).toEqual(refusal('muster compare SUITE --baseline A --candidate B'));
    expect(await stage.call(['verify', CARTPOLE, LATE])).toEqual(refusal('muster verify TASK --submission DIRECTORY'));
    expect(await stage.call(['evaluate', '--suite', CARTPOLE])).toEqual(refusal("unknown option '--suite'", 'the suite stands by itself'));
    const other = await stage.call(['eval', CARTPOLE, '-c', LATE, '--sandboxs', '2']);
    expect(other).toEqual(refusal('Did you mean --sandboxes?'));
    expect(other.stderr).not.toContain('the suite stands by itself');
  });

  it('that has no effect, or a wrong value, is refused by its name', async () => {
    await using stage = await Stage.open();
    const setup = await stage.call(['setup', '--python', '/bin/ls'], { environment: { MUSTER_PYTHON: '/x/python3' } });
    expect(setup).toEqual(refusal('--python /bin/ls: Muster uses the Python that started it, /x/python3; leave it out'));
    const watch = ['watch', stage.directory, '--suite', CARTPOLE, '--once', '--webhook', 'ftp://x'];
    expect(await stage.call(watch)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--webhook ftp://x/: ftp: is not supported'),
    });
  });

  it('--suite is required to watch a run', async () => {
    await using stage = await Stage.open();
    for (const directory of ['.', 'runs', 'runs/r7', stage.directory, 's3://bucket/run'])
      expect(await stage.call(['watch', directory])).toEqual(refusal(`muster watch ${directory}`, 'add --suite'));
  });

  it.each([
    ['inspect', 'did you mean muster checkpoints inspect?'],
    ['batch', 'did you mean muster submit --batch?'],
    ['evl', 'Did you mean eval?'],
  ])('stands in place of a command, as another command or nowhere: %s', async (word, expected) => {
    await using stage = await Stage.open();
    for (const words of [[word], ['help', word], [word, '--help'], ['-h', word]])
      expect(await stage.call(words)).toEqual(refusal(`unknown command '${word}'`, expected));
  });

  it('--help of a command in a command is printed, and refused for an unknown one', async () => {
    await using stage = await Stage.open();
    expect(await stage.call(['help', 'checkpoints', 'inspct'])).toEqual(refusal("unknown command 'inspct'", 'Did you mean inspect?'));
    for (const words of [
      ['help', 'checkpoints', 'inspect'],
      ['checkpoints', 'help', 'inspect'],
    ])
      expect(await stage.call(words)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('muster checkpoints inspect') });
  });

  it('that is required is named when it is missing', async () => {
    await using stage = await Stage.open();
    expect(await stage.call(['eval', CARTPOLE])).toEqual(refusal('--checkpoint'));
  });

  it('--out leaves a directory that the corrected command can use, after a refusal', async () => {
    await using stage = await Stage.open();
    const out = stage.path('results/of/late');
    await mkdir(stage.path('results'));
    const args = ['--checkpoint', ANYTHING, '--sandboxes', '1', '--out', out];
    const refused = await stage.faultSuite({ changes: { environment: 'fault:Faulty' } });
    expect(await stage.call(['eval', refused, ...args])).toEqual(refusal('there is no module "fault"'));
    expect(await readdir(stage.path('results'))).toEqual([]);
    expect((await stage.call(['eval', await stage.faultSuite(), ...args])).exitCode).toBe(0);
  });

  it('--out with a directory that was empty before a refusal is empty after it', async () => {
    await using stage = await Stage.open();
    const out = stage.path('out');
    await mkdir(out);
    const suite = await stage.faultSuite({ changes: { template: 'cloud' } });
    expect(await stage.call(['eval', suite, '--checkpoint', ANYTHING, '--out', out])).toEqual(refusal('"cloud"'));
    expect(await readdir(out)).toEqual([]);
  });

  it('--out with a directory that is not empty is refused, and its files stay', async () => {
    await using stage = await Stage.open();
    const out = stage.path('out');
    await mkdir(out);
    await writeFile(path.join(out, 'summary.json'), 'precious');
    const result = await stage.call(['eval', CARTPOLE, '--checkpoint', LATE, '--out', out]);
    expect(result).toEqual(refusal(out, 'is not empty', 'summary.json', 'name a new directory'));
    expect(await readFile(path.join(out, 'summary.json'), 'utf8')).toBe('precious');
  });
});

/** One linear layer for so many numbers of observation and two actions. */
function writeOnnx(file: string, observations: number): void {
  const script = `
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
from checkpoints import write_onnx
write_onnx(Path(sys.argv[2]), np.zeros((2, int(sys.argv[3])), np.float32), np.zeros(2, np.float32))`;
  const python = path.join(REPOSITORY, '.venv/bin/python');
  execFileSync(python, ['-c', script, path.join(REPOSITORY, 'test/runner/python'), file, String(observations)]);
}
