package calls

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

const (
	// slots is the number of points in a history; each covers the same time.
	slots = 12
	slot  = 5 * time.Second
)

// history is the number of calls in the last minute, oldest first. The newest slot is incomplete.
type history [slots]uint64

// remember fills in the histories of rows from the bursts.
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

// spark draws the history, each cell as high as its part of the maximum.
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
