package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestCallsSince(t *testing.T) {
	before := []api.Calls{
		{VCenter: "a", Client: "ccm", Method: "Find", Calls: 5, Errors: 1, Hits: 1, Latency: 100},
		{VCenter: "a", Client: "ccm", Method: "Login", Calls: 2},
		{VCenter: "b", Client: "ccm", Method: "Find", Calls: 9, Latency: 7},
		{VCenter: "a", Client: "ccm", Method: "Logout", Calls: 1, Errors: 1, LastError: "x"},
	}
	now := []api.Calls{
		{VCenter: "a", Client: "ccm", Method: "Find", Calls: 8, Errors: 2, Hits: 3, Latency: 160, LastError: "y"},
		{VCenter: "a", Client: "ccm", Method: "Login", Calls: 2},
		{VCenter: "b", Client: "ccm", Method: "Find", Calls: 4},
		{VCenter: "b", Client: "govc", Method: "Find", Calls: 1},
		{VCenter: "a", Client: "ccm", Method: "Logout", Calls: 2, Errors: 1, LastError: "x"},
	}
	want := []api.Calls{
		{VCenter: "a", Client: "ccm", Method: "Find", Calls: 3, Errors: 1, Hits: 2, Latency: 60, LastError: "y"},
		{VCenter: "b", Client: "ccm", Method: "Find", Calls: 4},
		{VCenter: "b", Client: "govc", Method: "Find", Calls: 1},
		{VCenter: "a", Client: "ccm", Method: "Logout", Calls: 1},
	}
	if diff := cmp.Diff(want, callsSince(now, before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
