package gate_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// A panic of the simulator is a fault in the form of the API that was called, is logged, and ends nothing.
func TestPanics(t *testing.T) {
	var log syncBuffer
	f := open(t, func(o *gate.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	f.backend.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("late") {
			_, _ = io.WriteString(w, "half of it")
		}
		var vm *types.VirtualMachineConfigInfo
		_ = vm.Name
	})
	for _, tc := range []struct{ kind, path, want string }{
		{"text/xml", "/sdk", `<SystemErrorFault xmlns="urn:vim25" xsi:type="SystemError">`},
		{"application/json", "/api/session", `{"error_type":"INTERNAL_SERVER_ERROR"`},
		{"application/json", "/rest/com/vmware/cis/session", `"type":"com.vmware.vapi.std.errors.internal_server_error"`},
		{"text/plain", "/folder/x", "panicked"},
	} {
		res, err := f.client.Post("https://"+f.Addr()+tc.path, tc.kind, strings.NewReader(envelope))
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusInternalServerError || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: %d, %s", tc.path, res.StatusCode, body)
		}
	}
	if _, err := f.post(t.Context(), "/sdk?late"); err == nil {
		t.Error("half an answer was passed for a whole one")
	}
	if text := log.String(); strings.Count(text, "panic in the simulator") != 5 || !strings.Contains(text, "hostile_test.go") {
		t.Errorf("logged: %s", text)
	}
}

// syncBuffer is a buffer for many writers.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A gate without hooks refuses the rules that need them; one that fails to make a task says so.
func TestHooks(t *testing.T) {
	f := open(t, nil)
	for want, r := range map[string]gate.Rule{
		"sessions and their users": {Match: gate.Match{User: "x"}, Action: gate.Hang{}},
		"names of objects":         {Match: gate.Match{Object: gate.Object{Name: "x"}}, Action: gate.Hang{}},
		"cannot make tasks":        {Action: gate.FailTask{Fault: gate.Fault{Type: "FileLocked"}}},
		"cannot end sessions":      {Action: gate.DropSession{}},
		"unknown fault":            {Name: "mine", Action: gate.Fault{Type: "Fualt"}},
		"needs one":                {},
	} {
		_, err := f.Add(r)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), f.Addr()) {
			t.Errorf("%s: %v", want, err)
		}
		if r.Name != "" && !strings.Contains(err.Error(), `rule "mine"`) {
			t.Errorf("no name: %v", err)
		}
	}
	broken := open(t, func(o *gate.Options) {
		o.FailTask = func(string, types.ManagedObjectReference, time.Duration, types.LocalizedMethodFault) (types.ManagedObjectReference, error) {
			return types.ManagedObjectReference{}, errors.New("no task manager")
		}
	})
	broken.add(t, gate.Rule{Action: gate.FailTask{Fault: gate.Fault{Type: "FileLocked"}}})
	if body, err := broken.post(t.Context(), "/sdk"); err != nil || body != envelope {
		t.Errorf("a method without a task: %q, %v", body, err)
	}
	res, err := broken.client.Post("https://"+broken.Addr()+"/vsanHealth", "text/xml",
		strings.NewReader(`<e><Body><CnsCreateVolume xmlns="urn:vsan"/></Body></e>`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); !strings.Contains(string(body), "no task manager") {
		t.Errorf("%s", body)
	}
}

// FuzzBodies: every body reaches the simulator unchanged, with rules or without, or is answered; the gate never panics.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		envelope, "", "<", "<a", `<a b="`, "<Body><", `<Body><x xmlns:="`, "<Body><x><_this type=", "<Body></Body><_this>", "{", `{"id":"a","type":"b"}`,
		"<Body><CnsCreateVolume/>", `<Body><a:PowerOnVM_Task xmlns:a="&quot;&lt;"><_this type='VirtualMachine'>vm-1`, "\xff\xfe<\x00B\x00",
		"<![CDATA[", "<!--", "<?", "</", "<Body/><Body>", `[[[{"type":1}]]]`,
	} {
		for kind := range byte(3) {
			f.Add(kind, []byte(seed))
		}
	}
	kinds := []struct{ kind, path string }{{"text/xml", "/sdk"}, {"application/json", "/rest/com/vmware/cis/session?~action=get"}, {"text/plain", "/sdk"}}
	var got []byte
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) })
	plain, err := gate.NewHandler(echo, gate.Options{})
	if err != nil {
		f.Fatal(err)
	}
	ruled, err := gate.NewHandler(echo, gate.Options{
		Name: func(types.ManagedObjectReference) string { return "x" },
		FailTask: func(string, types.ManagedObjectReference, time.Duration, types.LocalizedMethodFault) (types.ManagedObjectReference, error) {
			return types.ManagedObjectReference{Type: "Task", Value: "task-1"}, nil
		},
	},
		gate.Rule{Match: gate.Match{Object: gate.Object{Name: "y"}}, Action: gate.Outage{}},
		gate.Rule{Match: gate.Match{Object: gate.Object{Type: "VirtualMachine"}}, Action: gate.FailTask{Fault: gate.Fault{Type: "FileLocked"}}},
		gate.Rule{Match: gate.Match{Methods: []string{"C*"}}, Action: gate.Fault{Type: "NoPermission"}},
	)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		k := kinds[int(kind)%len(kinds)]
		for i, h := range []http.Handler{plain, ruled} {
			got = nil
			r := httptest.NewRequest(http.MethodPost, k.path, bytes.NewReader(body))
			r.Header.Set("Content-Type", k.kind)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			switch {
			case i == 0 && w.Code != http.StatusOK:
				t.Errorf("status %d", w.Code)
			case w.Code == http.StatusOK && w.Body.Len() == 0 && !bytes.Equal(got, body):
				t.Errorf("the simulator got %q", got)
			case w.Code != http.StatusOK && w.Code != http.StatusInternalServerError:
				t.Errorf("status %d", w.Code)
			}
		}
	})
}
