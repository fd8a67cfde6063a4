package calls

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

const (
	// slots are how many points a history has, each of so long a time.
	slots = 12
	slot  = 5 * time.Second
)

// history is how often something was called in the last minute, oldest first. The newest slot is the one that is not over.
type history [slots]uint64

// remember fills in the histories of rows from what was called.
func remember(rows map[string]*row, bursts []fold.Burst, by grouping, now time.Time) {
	newest := now.Truncate(slot)
	oldest := newest.Add(-(slots - 1) * slot)
	for i := len(bursts) - 1; i >= 0 && !bursts[i].At.Before(oldest); i-- {
		b := &bursts[i]
		if r := rows[by.key(b.VCenter, b.Client, b.Method)]; r != nil && !b.At.After(now) {
			r.history[slots-1-int(newest.Sub(b.At.Truncate(slot))/slot)] += b.Calls
		}
	}
}

// spark draws it in as many cells, each as high as its part of the highest: a space is none.
func (h history) spark() string {
	var top uint64
	for _, n := range h {
		top = max(top, n)
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range h {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[(n*uint64(len(levels))-1)/top])
	}
	return b.String()
}
