package provider

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// The start does not wait for a vCenter whose first attempt fails; then the nodes of the others work, with tags. It waits for a
// vCenter that does not answer at all up to StartWait.
func TestStartWaitsForNoDeadVCenter(t *testing.T) {
	for _, tc := range []struct {
		name      string
		gate      gate.State
		secret    func(*corev1.Secret)
		wait      time.Duration
		from, end time.Duration
	}{
		{name: "down", gate: gate.Down, wait: time.Minute, end: 20 * time.Second},
		{name: "hangs", gate: gate.Hung, wait: 1500 * time.Millisecond, from: 1500 * time.Millisecond, end: 20 * time.Second},
		{name: "wrong password", gate: gate.Up, wait: time.Minute, end: 20 * time.Second, secret: func(s *corev1.Secret) {
			s.Data["127.0.0.2.PASSWORD"] = []byte("wrong")
		}},
		{name: "no credentials", gate: gate.Up, wait: time.Minute, end: 20 * time.Second, secret: func(s *corev1.Secret) {
			delete(s.Data, "127.0.0.2.username")
		}},
		{name: "all well", gate: gate.Up, wait: time.Minute, end: 20 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var began time.Time
			w := startWith(t, setup{
				secret:  tc.secret,
				options: func(o *Options) { o.StartWait = tc.wait },
				gates: func(w *world) {
					w.gate(t, "eu", tc.gate)
					began = time.Now()
				},
			})
			if d := time.Since(began); d < tc.from || d > tc.end {
				t.Errorf("started after %s, want %s to %s", d, tc.from, tc.end)
			}
			if m, err := w.InstanceMetadata(t.Context(), uninitialized(node("w1", "", w1UUID))); err != nil || m.Zone != "us-west" {
				t.Errorf("a node of the other vcenter: %v, %v", m, err)
			}
		})
	}
}
