import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { simplifySchemaNames } from '../../../src/faces/http/schemas/schema-names.ts';
import { ServerFixture } from '../../support/server-fixture.ts';
import { UploadFixture } from '../../support/upload-fixture.ts';

const reference = (name: string): object => ({ $ref: `#/components/schemas/${name}` });

describe('the schemas of the reference', () => {
  it('have one name each, without unused ones', () => {
    const schemas = {
      SameInput: { items: reference('SameInput') },
      Same: { items: reference('Same') },
      SentInput: { type: 'string' },
      Sent: {},
      BothInput: { type: 'string' },
      Both: { type: 'number' },
      Unused: {},
    };
    const uses = ['SameInput', 'Same', 'SentInput', 'BothInput', 'Both'].map(reference);
    expect(simplifySchemaNames({ uses, components: { schemas, responses: {} } })).toEqual({
      uses: ['Same', 'Same', 'Sent', 'BothInput', 'Both'].map(reference),
      components: {
        schemas: { Same: { items: reference('Same') }, Sent: { type: 'string' }, BothInput: { type: 'string' }, Both: { type: 'number' } },
        responses: {},
      },
    });
  });

  it('say how a checkpoint is named, and what a field that is wrong should have been', async () => {
    await using files = await UploadFixture.open();
    await using server = await ServerFixture.open({}, (fixture) => ({ checkpoints: files.checkpointService(fixture, fixture.gate()) }));
    const document = z
      .looseObject({ components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }), paths: z.record(z.string(), z.unknown()) })
      .parse((await server.send('GET', '/openapi.json')).json);
    const { CheckpointReference, Problem } = document.components.schemas;
    expect(CheckpointReference).toMatchObject({
      properties: { uri: {}, sha256: {} },
      oneOf: [{ required: ['uri'] }, { required: ['sha256'] }],
    });
    expect(Problem).toMatchObject({
      properties: { errors: { items: { properties: { field: {}, detail: {}, expected: { type: 'string' } } } } },
    });
    const asked = {
      post: {
        requestBody: { content: { 'application/json': { schema: { properties: { checkpoint: reference('CheckpointReference') } } } } },
      },
    };
    expect(document.paths['/v1/evaluations']).toMatchObject(asked);
    expect(JSON.stringify(document)).not.toContain('Input"');
  });
});
