// Package merge joins intervals of whole numbers.
package merge

import "sort"

// Span holds the numbers from From to To, both of them included.
type Span struct {
	From, To int
}

// Merge returns the fewest spans that hold the same numbers, in ascending order.
func Merge(spans []Span) []Span {
	kept := make([]Span, 0, len(spans))
	for _, span := range spans {
		if span.From <= span.To {
			kept = append(kept, span)
		}
	}
	sort.Slice(kept, func(i, j int) bool { return kept[i].From < kept[j].From })
	var joined []Span
	for _, span := range kept {
		last := len(joined) - 1
		// span.From - 1 cannot overflow where it is more than last's From.
		if last >= 0 && (span.From <= joined[last].To || span.From-1 == joined[last].To) {
			joined[last].To = max2(joined[last].To, span.To)
		} else {
			joined = append(joined, span)
		}
	}
	return joined
}

func max2(a, b int) int {
	if a > b {
		return a
	}
	return b
}
