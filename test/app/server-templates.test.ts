import { describe, expect, it } from 'vitest';
import { attributeToOperator, ServerTemplates } from '../../src/app/server/server-templates.ts';
import { InfrastructureError, InputError } from '../../src/kernel/errors.ts';
import { TEMPLATE } from '../support/evaluation-fixture.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Templates of a server, of which those in `broken` cannot be used; counts how often each is tried. */
function openTemplates(names: readonly string[], broken: Set<string>) {
  const clock = new ManualClock();
  const tried: string[] = [];
  const make = async ({ template }: { readonly template: string }) => {
    tried.push(template);
    if (broken.has(template)) throw new InputError('python.missing', 'no Python at /x');
    return TEMPLATE;
  };
  const describe = async () => {
    throw new InputError('template.limit-unavailable', 'no processor time is limited here');
  };
  const getProvider = (template: string) => (template === 'limited' ? 'bubblewrap' : 'kubernetes');
  const runtime = {
    pools: { templates: names, make, describe, getProvider },
    choosePolicyPlacement: () => 'together' as const,
    joinSignals: () => new AbortController().signal,
  };
  return { clock, tried, templates: new ServerTemplates(runtime, clock) };
}

const PROBLEM = 'templates.local: no Python at /x; evaluations on it fail until that is corrected';

describe('the templates of a server', () => {
  it('that suites need keep it from being ready until they can be used, and are not tested at each request', async () => {
    const broken = new Set(['local', 'other']);
    const { clock, tried, templates } = openTemplates(['local', 'other', 'big'], broken);
    expect(await templates.examine(['local', 'big'])).toEqual([PROBLEM]);
    broken.delete('local');
    expect(await templates.findHindrances()).toEqual([PROBLEM]);
    expect(tried).toEqual(['local', 'big']);
    await clock.advance(10_000);
    expect(await templates.findHindrances()).toEqual([]);
    expect(tried).toEqual(['local', 'big', 'local', 'big']);
  });

  it('are all tested if no suite names one, and one usable template is enough', async () => {
    const broken = new Set(['local']);
    const { clock, templates } = openTemplates(['local', 'big'], broken);
    expect(await templates.examine([])).toEqual([PROBLEM]);
    expect(await templates.findHindrances()).toEqual([]);
    broken.add('big');
    await clock.advance(10_000);
    expect(await templates.findHindrances()).toHaveLength(2);
  });

  it('have limits that this machine keeps', async () => {
    const { templates } = openTemplates(['limited'], new Set());
    const problem = 'templates.limited: no processor time is limited here; evaluations on it fail until that is corrected';
    expect(await templates.examine(['limited'])).toEqual([problem]);
    expect(await templates.findHindrances()).toEqual([problem]);
  });
});

describe('what goes wrong while an order is played', () => {
  it('is reported to the operator for the template, otherwise to the caller or to no one', () => {
    const ofTemplate = new InputError('python.missing', 'no Python at /x; set python');
    expect(attributeToOperator(ofTemplate, 'local')).toMatchObject({
      kind: 'infrastructure',
      code: 'server.template',
      message: expect.stringMatching(/its template "local": no Python at \/x; set python\. Ask the server's operator/),
    });
    for (const other of [new InputError('checkpoint.refused', 'no'), new InfrastructureError('python.no-answer', 'slow'), 'thrown'])
      expect(attributeToOperator(other, 'local')).toBe(other);
  });
});
