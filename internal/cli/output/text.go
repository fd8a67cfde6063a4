package output

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Age is the time since t as kubectl writes it, "" for the zero time.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(t)))
}

// Join writes a list in one cell.
func Join(list []string) string { return strings.Join(list, ",") }

// YesNo writes a truth in one cell.
func YesNo(b bool) string { return strconv.FormatBool(b) }

// Bytes writes a size in binary units: 16Gi.
func Bytes(n int64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}} {
		if unit := int64(1) << u.shift; n >= unit {
			if n%unit == 0 {
				return fmt.Sprintf("%d%s", n/unit, u.name)
			}
			return fmt.Sprintf("%.1f%s", float64(n)/float64(unit), u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}
