package pace

import "testing"

// No speed makes the eviction rate the one at which the controller gets stuck.
func TestEvictionRate(t *testing.T) {
	for speed, want := range map[Speed]float64{1: 0.1, 5: 0.5, 10: 1.001, 100: 10} {
		if got := speed.EvictionRate(); got != want {
			t.Errorf("speed %g: %g, want %g", float64(speed), got, want)
		}
	}
}
