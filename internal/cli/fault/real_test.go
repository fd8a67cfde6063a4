package fault

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// On real vCenters the VMs that are hit are those that were asked about: the draw is the same. A plan asks nothing.
func TestRealTargets(t *testing.T) {
	request := func(seed uint64, confirmed, dry bool) api.InjectRequest {
		return api.InjectRequest{Fault: "vm.suspend", On: api.Selector{Zone: "a"}, Mode: "1", Seed: seed, Confirmed: confirmed, DryRun: dry}
	}
	for _, tc := range []struct {
		name, more, typed string
		want              []api.InjectRequest
		lease             bool
	}{
		{"yes", "", "y\n", []api.InjectRequest{request(0, false, false), request(7, true, false)}, true},
		{"no", "", "n\n", []api.InjectRequest{request(0, false, false)}, false},
		{"a seed of one's own", " --seed 3", "y\n", []api.InjectRequest{request(3, false, false), request(3, true, false)}, true},
		{"--yes", " --yes", "", []api.InjectRequest{request(0, true, false)}, true},
		{"a plan", " --dry-run --yes", "", []api.InjectRequest{request(0, false, true)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := clitest.Serve(t, clitest.ZonesUSEU())
			s.Unconfirmed("vm.suspend on real VMs (us/dc/vm/a)")
			e := clitest.NewEnv(s)
			e.Streams.SetTTY(true, true, true)
			e.In.WriteString(tc.typed)
			if r := run(t, e, "inject vm.suspend --zone a --mode 1"+tc.more); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, s.Injected()); d != "" {
				t.Error(d)
			}
			if printed := e.Out.Len() > 0; printed != tc.lease {
				t.Errorf("out %q", e.Out)
			}
		})
	}
}
