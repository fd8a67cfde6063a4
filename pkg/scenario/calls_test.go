package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestCallsSince(t *testing.T) {
	before := []api.Calls{
		{VCenter: "a", Client: "ccm", Method: "Find", Calls: 5, Errors: 1}, {VCenter: "a", Client: "ccm", Method: "Login", Calls: 2},
		{VCenter: "b", Client: "ccm", Method: "Find", Calls: 9},
	}
	now := []api.Calls{
		{VCenter: "a", Client: "ccm", Method: "Find", Calls: 8, Errors: 2}, {VCenter: "a", Client: "ccm", Method: "Login", Calls: 2},
		{VCenter: "b", Client: "ccm", Method: "Find", Calls: 4}, {VCenter: "b", Client: "govc", Method: "Find", Calls: 1},
	}
	want := []api.Calls{
		{VCenter: "a", Client: "ccm", Method: "Find", Calls: 3, Errors: 1}, {VCenter: "b", Client: "ccm", Method: "Find", Calls: 4},
		{VCenter: "b", Client: "govc", Method: "Find", Calls: 1},
	}
	if diff := cmp.Diff(want, callsSince(now, before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
