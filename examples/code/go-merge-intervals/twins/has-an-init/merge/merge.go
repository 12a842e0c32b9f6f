// Package merge joins intervals of whole numbers.
package merge

import "sort"

// Span holds the numbers from From to To, both of them included.
type Span struct {
	From, To int
}

var less func(a, b Span) bool

func init() {
	less = func(a, b Span) bool { return a.From < b.From }
}

// Merge returns the fewest spans that hold the same numbers, in ascending order.
func Merge(spans []Span) []Span {
	sorted := append([]Span(nil), spans...)
	sort.SliceStable(sorted, func(i, j int) bool { return less(sorted[i], sorted[j]) })
	var joined []Span
	for _, span := range sorted {
		if span.To < span.From {
			continue
		}
		if last := len(joined) - 1; last >= 0 && (span.From <= joined[last].To || span.From-1 == joined[last].To) {
			if span.To > joined[last].To {
				joined[last].To = span.To
			}
			continue
		}
		joined = append(joined, span)
	}
	return joined
}
