package timeline

import (
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// latency writes how long after its cause something happened, in at most six cells: +4ms, +0.42s, +36.2s, +2m05s, +17m.
// Clocks that disagree make it zero.
func latency(d time.Duration) string {
	switch d = max(0, d); {
	case d == 0:
		return "+0s"
	case d < 10*time.Millisecond:
		return "+" + text.Took(d)
	case d < 10*time.Second:
		return fmt.Sprintf("+%.2fs", d.Truncate(10*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("+%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d >= 10*time.Hour:
		return fmt.Sprintf("+%dh", int(d.Hours()))
	case d >= 10*time.Minute && d < time.Hour:
		return fmt.Sprintf("+%dm", int(d.Minutes()))
	}
	return "+" + text.Took(d)
}
