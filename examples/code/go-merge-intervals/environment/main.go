package main

import (
	"bufio"
	"fmt"
	"os"

	"example.com/intervals/merge"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	var count int
	fmt.Fscan(in, &count)
	spans := make([]merge.Span, count)
	for i := range spans {
		fmt.Fscan(in, &spans[i].From, &spans[i].To)
	}
	for _, span := range merge.Merge(spans) {
		fmt.Println(span.From, span.To)
	}
}
