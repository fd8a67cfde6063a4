package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestLeases(t *testing.T) {
	s := fold.New(fold.About{}, 0)
	add := func(id, state string, since, ended int) {
		l := api.Lease{ID: id, Fault: "vm.power-off", State: state, Since: tuitest.Began.Add(time.Duration(since) * time.Second)}
		if ended > 0 {
			at := tuitest.Began.Add(time.Duration(ended) * time.Second)
			l.Ended = &at
		}
		s.Apply(l.Since, api.Update{Lease: &l})
	}
	for i := 1; i <= 9; i++ {
		add(fmt.Sprintf("h%d", i), healed, i, 100-i) // those that came last ended first
	}
	add("f10", active, 30, 0)
	add("f9", failed, 20, 0)
	ls := leasesOf(s, "")
	var ids []string
	for _, l := range ls.all {
		ids = append(ids, l.ID)
	}
	if d := cmp.Diff([]string{"f9", "f10", "h1", "h2", "h3", "h4", "h5"}, ids); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	if ls.broken != 2 || ls.failed != 1 || ls.healed != 9 {
		t.Errorf("counts: %d broken, %d failed, %d healed", ls.broken, ls.failed, ls.healed)
	}
	if ls := leasesOf(s, "POWER active"); len(ls.all) != 1 || ls.broken != 2 {
		t.Errorf("filtered: %v", ls)
	}
}

func TestRemains(t *testing.T) {
	now := tuitest.Began
	at := func(d time.Duration) *time.Time { u := now.Add(d); return &u }
	for _, tt := range []struct {
		lease api.Lease
		want  string
	}{
		{api.Lease{State: active}, "∞ until healed"},
		{api.Lease{State: applying, Until: at(time.Minute)}, "in 1m00s"},
		{api.Lease{State: active, Until: at(12*time.Second + time.Millisecond)}, "in 13s"},
		{api.Lease{State: active, Until: at(12 * time.Second)}, "in 12s"},
		{api.Lease{State: active, Until: at(time.Millisecond)}, "in 1s"},
		{api.Lease{State: active, Until: at(0)}, "now"},
		{api.Lease{State: active, Until: at(2 * time.Hour)}, "in 2h00m"},
		{api.Lease{State: healing, Until: at(time.Minute)}, "now"},
		{api.Lease{State: failed, Until: at(time.Minute)}, "tried again"},
		{api.Lease{State: healed, Ended: at(-3 * time.Minute)}, "3m ago"},
		{api.Lease{State: healed}, "over"},
	} {
		if got := remains(tt.lease, now); got != tt.want {
			t.Errorf("%s until %v: %q, want %q", tt.lease.State, tt.lease.Until, got, tt.want)
		}
	}
}

func TestTroubles(t *testing.T) {
	l := api.Lease{Targets: []api.LeaseTarget{
		{Name: "us", VCenter: "us", Error: "refused\x1b[2J"}, {Name: "w", VCenter: "eu", Error: "refused\x1b[2J"}, {Name: "n", Error: "gone\nfor good"},
	}}
	if got := troubles(l); got != "refused; gone for good" {
		t.Errorf("errors: %q", got)
	}
	if got := targets(l); got != "us, eu/w, n" {
		t.Errorf("targets: %q", got)
	}
}

func TestDivide(t *testing.T) {
	for _, tt := range []struct {
		width, height, leases int
		at                    part
		want                  layout
	}{
		{80, 21, 0, catalogue, layout{force: 3, catalogue: 18, list: 42, about: 35}},
		{80, 21, 30, inForce, layout{force: 8, catalogue: 13, list: 42, about: 35}},
		{200, 57, 30, inForce, layout{force: 22, catalogue: 35, list: 110, about: 87}},
		{60, 21, 1, inForce, layout{force: 3, catalogue: 18, list: 60}},
		{80, 8, 3, inForce, layout{force: 8}},
		{80, 8, 3, catalogue, layout{catalogue: 8, list: 42, about: 35}},
	} {
		got := divide(tt.width, tt.height, tt.leases, tt.at)
		if tt.want.list == 0 {
			got.list, got.about = 0, 0
		}
		if got != tt.want {
			t.Errorf("%dx%d with %d leases: %+v, want %+v", tt.width, tt.height, tt.leases, got, tt.want)
		}
	}
}
