import { html, noChange, type ChildPart, type TemplateResult } from 'lit-html';
import { AsyncDirective } from 'lit-html/async-directive.js';
import { Directive, directive } from 'lit-html/directive.js';
import { repeat } from 'lit-html/directives/repeat.js';

/** A row that is far from the window may show figures of this age. */
const FAR_MILLISECONDS = 5000;
/** Rows this far above and below the window are drawn before a reader scrolls there. */
const MARGIN = '50% 0px';

interface Drawing {
  /** A change of it is drawn at once, wherever the row is. */
  readonly state: string;
  /** All values that the row shows, except the time. */
  readonly inputs: readonly unknown[];
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly draw: () => TemplateResult;
}

const rows = new WeakMap<Element, Row>();
const observer = new IntersectionObserver((seen) => seen.forEach(({ target, isIntersecting }) => rows.get(target)?.move(isIntersecting)), {
  rootMargin: MARGIN,
});

/** Redraws a row of a long list only when its content has changed, and less often when it is far from the window. */
class Row extends AsyncDirective {
  #latest: Drawing | undefined;
  #drawn: Drawing | undefined;
  #isNear = true;
  #element: Element | undefined;

  render({ draw }: Drawing): TemplateResult {
    return draw();
  }

  override update({ startNode }: ChildPart, [latest]: [Drawing]): TemplateResult | typeof noChange {
    this.#latest = latest;
    // There is no element before the first drawing.
    if (!this.#element && startNode?.nextSibling instanceof Element) this.#observe(startNode.nextSibling);
    return this.#isDue(latest) ? this.#draw(latest) : noChange;
  }

  move(isNear: boolean): void {
    this.#isNear = isNear;
    if (this.#latest && this.#isDue(this.#latest)) this.setValue(this.#draw(this.#latest));
  }

  protected override disconnected(): void {
    if (this.#element) observer.unobserve(this.#element);
    this.#element = undefined;
  }

  #observe(element: Element): void {
    this.#element = element;
    rows.set(element, this);
    observer.observe(element);
  }

  #isDue({ state, inputs, now }: Drawing): boolean {
    const drawn = this.#drawn;
    if (!drawn || drawn.state !== state) return true;
    if (!this.#isNear && now - drawn.now < FAR_MILLISECONDS) return false;
    return inputs.some((input, at) => input !== drawn.inputs[at]);
  }

  #draw(latest: Drawing): TemplateResult {
    this.#drawn = latest;
    return this.render(latest);
  }
}

const place = directive(Row);

/** lit leaves a comment for each removed row: after this many, all rows are made again, which removes the comments. */
const MOST_GONE = 500;

interface KeyedRow {
  readonly key: unknown;
  readonly draw: () => TemplateResult;
}

/** The rows of a list that stays open for hours while others come and go. */
class Rows extends Directive {
  #shown: ReadonlySet<unknown> = new Set();
  #gone = 0;
  #isSecond = false;

  render(rows: readonly KeyedRow[]): TemplateResult {
    const shown = new Set(rows.map(({ key }) => key));
    this.#gone += this.#shown.difference(shown).size;
    this.#shown = shown;
    if (this.#gone > MOST_GONE) {
      this.#isSecond = !this.#isSecond;
      this.#gone = 0;
    }
    const drawn = repeat(
      rows,
      ({ key }) => key,
      ({ draw }) => draw(),
    );
    // Another template: lit removes all that the previous one has made, and notifies its rows.
    return this.#isSecond ? html`${drawn}` : html`<!-- second -->${drawn}`;
  }
}

const list = directive(Rows);

/** Each row stays the same element as long as its item is in the list. */
export function renderRows<Item>(
  items: readonly Item[],
  getKey: (item: Item) => unknown,
  draw: (item: Item) => TemplateResult,
): TemplateResult {
  return html`${list(items.map((item) => ({ key: getKey(item), draw: () => draw(item) })))}`;
}

/** Draws in a template of its own, because a list disconnects directives only in its items' templates. */
export function renderWhenDue(drawing: Drawing): TemplateResult {
  return html`${place(drawing)}`;
}
