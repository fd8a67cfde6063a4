package volume

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// A volume that a VM of a real vCenter has is asked about.
func TestRealVolume(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	s.Unconfirmed("detach volume a from the real VM")
	e := clitest.NewEnv(s)
	e.Streams.SetTTY(true, true, true)
	e.In.WriteString("y\n")
	if r := e.Run(t.Context(), NewCmdDetach(e.Deps, nil), "a"); r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
	if r := e.Run(t.Context(), NewCmdDetach(e.Deps, nil), "b", "--yes"); r.Exit != 0 {
		t.Errorf("--yes ended with %+v", r)
	}
	detach := func(v string, confirmed bool) api.VolumeRequest {
		return api.VolumeRequest{Action: api.DetachVolume, Volume: v, Confirmed: confirmed}
	}
	if d := cmp.Diff([]api.VolumeRequest{detach("a", false), detach("a", true), detach("b", true)}, s.StorageRequests().Volumes); d != "" {
		t.Error(d)
	}
}
