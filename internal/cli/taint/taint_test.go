package taint

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
		want []api.OutOfServiceRequest
		exit int
	}{
		{args: "out-of-service a b", want: []api.OutOfServiceRequest{{Node: "a"}, {Node: "b"}}},
		{args: "out-of-service a --remove", want: []api.OutOfServiceRequest{{Node: "a", Remove: true}}},
		{args: "out-of-service", exit: report.Usage},
		{args: "outofservice a", exit: report.Usage},
	} {
		t.Run(tc.args, func(t *testing.T) {
			s := clitest.Serve(t, clitest.ZonesUSEU())
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdTaint(e.Deps), strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, s.StorageRequests().OutOfService); d != "" {
				t.Error(d)
			}
		})
	}
}
