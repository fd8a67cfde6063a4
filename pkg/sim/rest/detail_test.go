package rest

import (
	"fmt"
	"testing"
	"time"
)

// TestDetailsAreBounded: sessions without an end do not accumulate, and those in use are kept.
func TestDetailsAreBounded(t *testing.T) {
	d := details{of: make(map[string]*detail)}
	start := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	d.open("used", "me", start)
	for n := range 3 * maxDetails {
		now := start.Add(time.Duration(n) * time.Second)
		d.open(fmt.Sprint(n), "you", now)
		if n%100 == 0 {
			d.touch("used", "me", now)
		}
	}
	if len(d.of) > maxDetails {
		t.Errorf("%d remembered", len(d.of))
	}
	if s := d.get("used"); s.Created != "2026-01-02T03:04:05.006Z" {
		t.Errorf("%+v", s)
	}
	d.touch("0", "you", start) // forgotten, but it lives
	if s := d.get("0"); s.User != "you" || s.Accessed == "" {
		t.Errorf("%+v", s)
	}
}
