package calls

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// file writes a trace of three calls.
func file(t *testing.T) string {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var text strings.Builder
	for _, c := range []trace.Call{
		{
			VCenter: "us", Transport: gate.SOAP, Method: "Login", Client: "vsphere-cloud-provider", Session: 1, Start: at, Duration: time.Millisecond, Status: 200,
			Verb: "POST", URI: "/sdk", Request: trace.Message{Size: 9, Body: "<Envelope><Body><Login><userName>cpi</userName><password>(masked)</password></Login></Body></Envelope>"},
		},
		{VCenter: "us", Transport: gate.SOAP, Method: "PowerOnVM_Task", Client: "govc/0.56.0", Start: at, Status: 500, Fault: "InvalidPowerState", Verb: "POST", URI: "/sdk"},
		{VCenter: "eu", Transport: gate.REST, Method: "GET /api/session", Client: "k8s-csi-useragent", Start: at, Status: 200, Verb: "GET", URI: "/api/session", Answer: trace.Message{Body: `{"user":"csi","token":"tok-canary-1"}`}},
	} {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(b, '\n'))
	}
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDump(t *testing.T) {
	path := file(t)
	for _, tc := range []struct {
		args string
		has  []string
		not  string
	}{
		{"", []string{"→ Login\n      userName: cpi\n", "← 500 InvalidPowerState", "→ GET /api/session", "user: csi"}, "tok-canary-1"},
		{"--client ccm", []string{"→ Login"}, "PowerOn"},
		{"--client csi", []string{"GET /api/session"}, "Login"},
		{"--failed", []string{"PowerOnVM_Task"}, "Login"},
		{"--method poweron*", []string{"PowerOnVM_Task"}, "Login"},
		{"--vcenter eu", []string{"→ eu"}, "→ us"},
		{"-o json --vcenter us", []string{`"method":"Login"`, `"fault":"InvalidPowerState"`}, "eu"},
		{"-o yaml --vcenter us", []string{"---\n", "method: Login\n"}, "eu"},
		{"-o har --client govc", []string{`"version": "1.2"`, `"comment": "PowerOnVM_Task by govc/0.56.0"`}, "Login"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			if r := e.Run(t.Context(), NewCmdDump(e.Deps, nil), append(strings.Fields(tc.args), path)...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			for _, want := range tc.has {
				if !strings.Contains(e.Out.String(), want) {
					t.Errorf("no %q in\n%s", want, e.Out)
				}
			}
			if strings.Contains(e.Out.String(), tc.not) {
				t.Errorf("%q is in\n%s", tc.not, e.Out)
			}
		})
	}
}

func TestWrong(t *testing.T) {
	path := file(t)
	for _, tc := range []struct {
		args string
		exit int
		code string
	}{
		{"-f " + path, report.Usage, "usage"},
		{"-f -o har", report.Usage, "usage"},
		{"/nope", report.Usage, "trace-unreadable"},
		{"calls_test.go", report.Usage, "trace-unreadable"},
	} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdDump(e.Deps, nil), strings.Fields(tc.args)...); r.Exit != tc.exit || r.Code != tc.code {
			t.Errorf("%s: ended with %+v", tc.args, r)
		}
	}
	for args, code := range map[string]string{"": "usage", path + " --patience 0s": "usage", "/nope": "trace-unreadable"} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdReplay(e.Deps, nil), strings.Fields(args)...); r.Exit != report.Usage || r.Code != code {
			t.Errorf("replay %s: ended with %+v", args, r)
		}
	}
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	if r := e.Run(t.Context(), NewCmdReplay(e.Deps, nil), path, "--to", "moon"); r.Code != "not-found" {
		t.Errorf("replay to a vCenter that is not there: ended with %+v", r)
	}
}

func TestReplayOptions(t *testing.T) {
	e := clitest.NewEnv(nil)
	var got replayOptions
	cmd := NewCmdReplay(e.Deps, func(_ context.Context, o *replayOptions) error { got = *o; return nil })
	if r := e.Run(t.Context(), cmd, "run.trace", "--to", "us", "--client", "ccm"); r.Exit != 0 || got.file != "run.trace" || got.to != "us" || got.filter.client != "ccm" || got.patience != 2*time.Second {
		t.Errorf("ended with %+v, options %+v", r, got)
	}
}
