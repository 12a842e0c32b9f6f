import { describe, expect, it } from 'vitest';
import { ANYTHING, Stage } from './stage.ts';

/** Runs the command with a reader of the one stream that ends at once; its exit code is the command's. */
const UNREAD_STDOUT = ['bash', '-c', 'set -o pipefail; "$@" | true', 'bash'];
const UNREAD_STDERR = ['bash', '-c', 'set -o pipefail; { "$@" 2>&1 >&3 | true; } 3>&1', 'bash'];
const FULL_STDOUT = ['bash', '-c', '"$@" >/dev/full', 'bash'];

describe('a stdout', () => {
  it('that is closed ends the run like an interruption', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite();
    const args = ['eval', suite, '-c', ANYTHING, '-c', stage.path('never-looked-at'), '-n', '1'];
    const result = await stage.run(args, { under: UNREAD_STDOUT });
    expect(result.exitCode).toBe(130);
    expect(result.stderr).not.toMatch(/EPIPE|never-looked-at does not exist/);
  });

  it('that is closed causes no defect later or at the end', async () => {
    await using stage = await Stage.open();
    const result = await stage.run(['eval', await stage.faultSuite(), '-c', ANYTHING, '-n', '1', '--json'], { under: UNREAD_STDOUT });
    expect(result).toMatchObject({ exitCode: 130, notices: '' });
  });

  it('that cannot be written is an infrastructure failure', async () => {
    await using stage = await Stage.open();
    const result = await stage.run(['eval', await stage.faultSuite(), '-c', ANYTHING, '-n', '1', '--json'], { under: FULL_STDOUT });
    expect(result).toMatchObject({ exitCode: 3, notices: expect.stringMatching(/^muster: stdout could not be written: .*ENOSPC.*\n$/) });
  });
});

describe('a stderr that is not read', () => {
  it('changes neither the result nor the exit code', async () => {
    await using stage = await Stage.open();
    const args = ['eval', await stage.faultSuite(), '-c', ANYTHING, '-c', stage.path('missing'), '-n', '1', '--json'];
    const result = await stage.run(args, { under: UNREAD_STDERR });
    expect(result.exitCode).toBe(2);
    expect(JSON.parse(result.stdout)).toMatchObject({ summaries: [{ ended: 'rule' }] });
  });
});
