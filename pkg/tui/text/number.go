package text

import (
	"fmt"
	"strconv"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// trimUnit writes seconds, without ".0".
func trimUnit(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// Took writes how long something took, in the unit that makes it short: 85µs, 12ms, 1.4s, 2m05s.
func Took(d time.Duration) string {
	switch d = max(0, d); {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return itoa(int(d/time.Microsecond)) + "µs"
	case d < time.Second:
		return itoa(int(d/time.Millisecond)) + "ms"
	case d < time.Minute:
		return trimUnit(d.Truncate(100 * time.Millisecond))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Bytes writes a size as Kubernetes does: 512Mi, 1Gi, 1.5Gi.
func Bytes(n int64) string {
	const units = "KMGTP"
	v, unit := float64(n), -1
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if unit < 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(float64(int(v*10+0.5))/10, 'f', -1, 64) + string(units[unit]) + "i"
}
