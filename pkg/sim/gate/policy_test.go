package gate

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPolicyErrors: before an NSX Manager, rules answer in the form of its Policy API, and calls are known by their operation.
func TestPolicyErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		action Action
		status int
		want   map[string]any
		retry  string
	}{
		"conflict": {RESTError{Type: "CONFLICT", Message: "busy"}, 409, map[string]any{
			"httpStatus": "CONFLICT", "error_code": 604.0, "module_name": "common-services", "error_message": "busy",
		}, ""},
		"revision": {RESTError{Type: "PRECONDITION_FAILED", Message: "old"}, 412, map[string]any{
			"httpStatus": "PRECONDITION_FAILED", "error_code": 604.0, "module_name": "common-services", "error_message": "old",
		}, ""},
		"unavailable": {RESTError{Type: "SERVICE_UNAVAILABLE", Message: "starting"}, 503, map[string]any{
			"httpStatus": "SERVICE_UNAVAILABLE", "error_code": 503.0, "module_name": "common-services", "error_message": "starting",
		}, ""},
		"throttled": {Throttle{Rate: 1e-9, Code: 429}, 429, map[string]any{
			"httpStatus": "TOO_MANY_REQUESTS", "error_code": 102.0, "module_name": "common-services", "error_message": "The client exceeded the request rate of the manager.",
		}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &Gate{next: http.NotFoundHandler(), opts: Options{NSX: true}, stats: newStats(), recent: newRing(8), mode: Mode{State: Up}}
			g.table.Store(&table{})
			if _, err := g.Add(Rule{Action: tc.action, Match: Match{Methods: []string{"GET /policy/api/v1/infra/lb-pools/{id}"}}}); err != nil {
				t.Fatal(err)
			}
			var last *httptest.ResponseRecorder
			for range 2 { // a throttle lets the first call pass
				last = httptest.NewRecorder()
				g.handle(last, httptest.NewRequest(http.MethodGet, "/policy/api/v1/infra/lb-pools/8c5e2f5e-5a3f-4a86-8f1e-9a4a4a4a4a4a", nil))
			}
			var got map[string]any
			text, _ := io.ReadAll(last.Body)
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || last.Code != tc.status || last.Header().Get("Retry-After") != tc.retry {
				t.Errorf("status %d, Retry-After %q, body (-want +got):\n%s", last.Code, last.Header().Get("Retry-After"), diff)
			}
			call := g.Recent()[1]
			if call.Method != "GET /policy/api/v1/infra/lb-pools/{id}" || call.Fault != tc.want["httpStatus"] {
				t.Errorf("the call is %q with the error %q", call.Method, call.Fault)
			}
		})
	}
}
