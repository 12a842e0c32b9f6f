import { Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { addStopFlags, buildStopOverride } from '../../src/cli/flags/stop-override.ts';
import { InputError } from '../../src/kernel/errors.ts';

/** What the flags ask for, as they are typed. */
function asked(...flags: readonly string[]): unknown {
  const command = addStopFlags(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return buildStopOverride(command.parse(flags, { from: 'user' }).opts());
}

describe('the flags for a stopping rule', () => {
  it('keep the rule of the suite without flags', () => {
    expect(asked()).toBeUndefined();
  });

  it.each([
    ['--episodes 50', { rule: 'fixed', episodes: 50 }],
    ['--episodes 50 --rule fixed', { rule: 'fixed', episodes: 50 }],
    ['--half-width 0.5', { rule: 'certified', halfWidth: 0.5 }],
    ['--half-width 0.5 --rule certified', { rule: 'certified', halfWidth: 0.5 }],
    ['--half-width 0.5 --rule approximate', { rule: 'approximate', halfWidth: 0.5 }],
    ['--half-width 0.5 --rule asymptotic', { rule: 'asymptotic', halfWidth: 0.5 }],
  ])('replace it: %s', (flags, stop) => {
    expect(asked(...flags.split(' '))).toEqual(stop);
  });

  it.each([
    ['--episodes 50 --half-width 1', '--episodes and --half-width exclude each other'],
    ['--rule fixed', '--rule fixed needs --episodes'],
    ['--rule fixed --half-width 1', '--rule fixed needs --episodes, and cannot be used with --half-width'],
    ['--rule certified', '--rule certified needs --half-width'],
    ['--rule asymptotic --episodes 50', '--rule asymptotic needs --half-width, and cannot be used with --episodes'],
  ])('are refused by name when they contradict each other: %s', (flags, message) => {
    const error = (): unknown => asked(...flags.split(' '));
    expect(error).toThrow(InputError);
    expect(error).toThrow(message);
  });

  it('are refused for an unknown rule', () => {
    expect(() => asked('--rule', 'exact', '--half-width', '1')).toThrow(CommanderError);
    expect(() => asked('--rule', 'exact', '--half-width', '1')).toThrow('certified, approximate, asymptotic, fixed');
  });
});
