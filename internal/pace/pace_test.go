package pace

import (
	"math"
	"testing"
	"time"
)

func TestSpeedOneIsUpstream(t *testing.T) {
	for _, r := range Table() {
		if got := Speed(1).Of(r.Period); got != r.Upstream {
			t.Errorf("%s: %v, want upstream's %v", r.Setting, got, r.Upstream)
		}
	}
}

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		speed Speed
		p     Period
		want  time.Duration
	}{
		{10, NodeMonitorGracePeriod, 5 * time.Second},
		{10, NodeLease, 4 * time.Second},
		{7, NodeLease, 6 * time.Second}, // whole seconds only
		{100, NodeLease, time.Second},   // the floor
		{100, NodeMonitorGracePeriod, 3 * time.Second},
	} {
		if got := tc.speed.Of(tc.p); got != tc.want {
			t.Errorf("speed %v, %s: %v, want %v", tc.speed, tc.p.row().Setting, got, tc.want)
		}
	}
}

// A node that renews its lease on time must never become unknown, at any speed.
func TestLeaseIsRenewedWithinTheGracePeriod(t *testing.T) {
	for s := Speed(1); s <= Max; s++ {
		if renew := s.Of(NodeLease) / 4; 2*renew >= s.Of(NodeMonitorGracePeriod) {
			t.Errorf("speed %v: lease renewed every %v, grace %v", s, renew, s.Of(NodeMonitorGracePeriod))
		}
	}
}

func TestValidate(t *testing.T) {
	for s, ok := range map[Speed]bool{1: true, 10: true, 2.5: true, 100: true, 0: false, 0.5: false, -1: false, 101: false, Speed(math.NaN()): false} {
		if err := s.Validate(); (err == nil) != ok {
			t.Errorf("speed %v: %v", s, err)
		}
	}
}
