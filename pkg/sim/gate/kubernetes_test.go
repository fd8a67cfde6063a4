package gate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestKubernetesMethod: requests of one kind have one name, for any names in their paths.
func TestKubernetesMethod(t *testing.T) {
	const vm = "/apis/vmoperator.vmware.com/v1alpha2/namespaces/team-a/virtualmachines"
	for _, tc := range []struct{ method, target, want string }{
		{"GET", vm, "GET virtualmachines"},
		{"GET", vm + "/worker-1", "GET virtualmachines"},
		{"GET", vm + "?watch=true", "WATCH virtualmachines"},
		{"PUT", vm + "/worker-1/status", "PUT virtualmachines/status"},
		{"GET", "/apis/vmoperator.vmware.com/v1alpha2/virtualmachines", "GET virtualmachines"},
		{"GET", "/api/v1/namespaces", "GET namespaces"},
		{"GET", "/api/v1/namespaces/team-a", "GET namespaces"},
		{"POST", "/api/v1/namespaces/team-a/serviceaccounts/guest-ccm/token", "POST serviceaccounts/token"},
		{"GET", "/apis", "GET /apis"},
		{"GET", "/apis/apps/v1", "GET /apis"},
		{"GET", "/readyz?verbose", "GET /readyz"},
		{"GET", "/", "GET /"},
	} {
		if got := kubernetesMethod(httptest.NewRequest(tc.method, tc.target, nil)); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.method, tc.target, got, tc.want)
		}
	}
}

// TestKubernetesStatus: before an API server of Kubernetes, rules answer with a Status, which clients read the reason from.
func TestKubernetesStatus(t *testing.T) {
	g := &Gate{next: http.NotFoundHandler(), opts: Options{Kubernetes: true}, stats: newStats(), recent: newRing(8), mode: Mode{State: Up}}
	g.table.Store(&table{})
	if _, err := g.Add(Rule{Action: HTTPStatus{Code: http.StatusForbidden}}); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	g.handle(w, httptest.NewRequest(http.MethodGet, "/api/v1/namespaces", nil))
	var s kubernetesStatus
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if w.Code != http.StatusForbidden || s.Kind != "Status" || s.Reason != "Forbidden" || s.Code != http.StatusForbidden || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %+v", w.Code, w.Header(), s)
	}
	if calls := g.Recent(); len(calls) != 1 || calls[0].Method != "GET namespaces" || calls[0].Fault != "Forbidden" {
		t.Errorf("calls %+v", calls)
	}
}
