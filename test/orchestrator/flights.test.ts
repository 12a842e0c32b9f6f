import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEpisodeIndex } from '../../src/kernel/ids.ts';
import { Block } from '../../src/orchestrator/arm/block.ts';
import { Flights, type Flight } from '../../src/orchestrator/arm/flights.ts';

const flight = (index: number, copies = 1): Flight => ({
  block: new Block(index, [{ index: parseEpisodeIndex(index), task: 0, environmentSeed: 0, policySeed: 0 }]),
  since: 0,
  behind: 0,
  copies,
});

/** Spreads the indices over more than the slots that there are at first. */
const STRIDE = 9;

it('blocks in flight are found by their number, whatever is added and removed in whatever order', () => {
  const step = fc.record({
    isAdding: fc.boolean(),
    index: fc.nat({ max: 500 }).map((position) => position * STRIDE),
    copies: fc.constantFrom(1, 2),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const flights = new Flights();
      const model = new Map<number, Flight>();
      for (const { isAdding, index, copies } of steps) {
        if (isAdding && !model.has(index)) {
          const added = flight(index, copies);
          model.set(index, added);
          flights.add(added);
        } else if (!isAdding) {
          model.delete(index);
          flights.remove(index);
        }
        expect(flights.size).toBe(model.size);
        expect(flights.get(index)).toBe(model.get(index));
      }
      for (let index = 0; index <= 500 * STRIDE; index += 1) expect(flights.get(index)).toBe(model.get(index));
      const singles = [...model.values()].filter((one) => one.copies === 1).map((one) => one.block.number);
      expect(flights.findFirstSingle()?.block.number).toBe(singles.length === 0 ? undefined : Math.min(...singles));
    }),
  );
});
