package volume

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestRequests(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []api.VolumeRequest
		exit int
	}{
		{args: "detach data default/logs", want: []api.VolumeRequest{{Action: "detach", Volume: "data"}, {Action: "detach", Volume: "default/logs"}}},
		{args: "relocate data --to us-west-ds", want: []api.VolumeRequest{{Action: "relocate", Volume: "data", Datastore: "us-west-ds"}}},
		{args: "relocate data", exit: report.Usage},
		{args: "detach", exit: report.Usage},
		{args: "path", exit: report.Usage},
		{args: "path a b", exit: report.Usage},
		{args: "detatch data", exit: report.Usage},
	} {
		t.Run(tc.args, func(t *testing.T) {
			s := clitest.Serve(t, clitest.ZonesUSEU())
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdVolume(e.Deps), strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, s.StorageRequests().Volumes); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPath(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	if r := e.Run(t.Context(), NewCmdPath(e.Deps, nil), "data"); r.Exit != 0 || e.Out.String() != "/state/default/nodes/eu.vm-21/mount\n" {
		t.Errorf("%+v %s", r, e.Out)
	}
}
