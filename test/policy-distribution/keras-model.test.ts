import { describe, expect, it } from 'vitest';
import { readKerasModel, UnknownKerasModel } from '../../src/policy-distribution/formats/keras-model.ts';

const read = (config: unknown) => readKerasModel(Buffer.from(JSON.stringify(config)));
const layer = (class_name: string, name: string, more: object = {}) => ({ class_name, config: { name }, ...more });

describe('the configuration of a Keras model', () => {
  it('names its layers and their inputs, if these have one shape', () => {
    const layers = [
      { class_name: 'InputLayer', config: { name: 'in', batch_shape: [null, 4] } },
      layer('Dense', 'dense', { build_config: { input_shape: [null, 4] } }),
      layer('Concatenate', 'both', {
        build_config: {
          input_shape: [
            [null, 4],
            [null, 8],
          ],
        },
      }),
      layer('Dropout', 'unbuilt', { build_config: null }),
    ];
    expect(read({ class_name: 'Functional', config: { layers } })).toEqual({
      kind: 'Functional',
      layers: [
        { name: 'in', kind: 'InputLayer', inputShape: [null, 4] },
        { name: 'dense', kind: 'Dense', inputShape: [null, 4] },
        { name: 'both', kind: 'Concatenate', inputShape: undefined },
        { name: 'unbuilt', kind: 'Dropout', inputShape: undefined },
      ],
    });
  });

  it('of a custom class can name no layers', () => {
    expect(read({ class_name: 'Mine', config: { units: 3 } })).toEqual({ kind: 'Mine', layers: [] });
  });

  it.each([[null], [[]], [{ class_name: 3 }], [{ class_name: 'X', config: { layers: [{}] } }]])('is none when it is %j', (config) => {
    expect(() => read(config)).toThrow(UnknownKerasModel);
  });

  it.each([['{'], ['\u00ff']])('is none when it is no JSON: %j', (text) => {
    expect(() => readKerasModel(Buffer.from(text, 'latin1'))).toThrow('config.json: it is not valid JSON');
  });
});
