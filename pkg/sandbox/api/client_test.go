package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// serve answers on a unix socket as h says, until the test ends.
func serve(t *testing.T, h http.HandlerFunc) *api.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "api") // the path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(func() { s.Close(); os.RemoveAll(dir) })
	return api.NewClient(path)
}

func TestQuestions(t *testing.T) {
	var asked string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path
		if r.URL.Path == "/v1/status" {
			fmt.Fprint(w, `{"name":"lab","phase":"ready"}`)
			return
		}
		fmt.Fprint(w, `[{"name":"a","vcenter":"us"},{"name":"b","vcenter":"eu"}]`)
	})
	ctx := t.Context()
	for want, ask := range map[string]func() (any, error){
		"GET /v1/vcenters":    func() (any, error) { l, err := c.VCenters(ctx); return []string{l[0].Name, l[1].Name}, err },
		"GET /v1/datacenters": func() (any, error) { l, err := c.Datacenters(ctx); return []string{l[0].Name, l[1].Name}, err },
		"GET /v1/hosts":       func() (any, error) { l, err := c.Hosts(ctx); return []string{l[0].Name, l[1].Name}, err },
		"GET /v1/vms":         func() (any, error) { l, err := c.VMs(ctx); return []string{l[0].Name, l[1].Name}, err },
		"GET /v1/nodes":       func() (any, error) { l, err := c.Nodes(ctx); return []string{l[0].Name, l[1].Name}, err },
	} {
		got, err := ask()
		if err != nil || asked != want {
			t.Errorf("%s: asked %s, %v", want, asked, err)
		}
		if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want, diff)
		}
	}
	if zones, err := c.Zones(ctx); err != nil || len(zones) != 2 || asked != "GET /v1/zones" {
		t.Errorf("zones: %v, %v, asked %s", zones, err, asked)
	}
	if access, err := c.Access(ctx); err != nil || len(access) != 2 || access[1].VCenter != "eu" || asked != "GET /v1/access" {
		t.Errorf("access: %v, %v, asked %s", access, err, asked)
	}
	if st, err := c.Status(ctx); err != nil || st.Name != "lab" || st.Phase != api.Ready || asked != "GET /v1/status" {
		t.Errorf("status: %+v, %v, asked %s", st, err, asked)
	}
}

func TestRequests(t *testing.T) {
	var asked string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + string(body)
		fmt.Fprint(w, `{"message":"done","seq":7}`)
	})
	ctx := t.Context()
	for want, do := range map[string]func() (api.Done, error){
		`POST /v1/vm {"action":"move","vm":"w","host":"h"}`: func() (api.Done, error) {
			return c.VM(ctx, api.VMRequest{Action: api.Move, VM: "w", Host: "h"})
		},
		`POST /v1/gate {"vcenter":"us","mode":"down"}`: func() (api.Done, error) {
			return c.Gate(ctx, api.GateRequest{VCenter: "us", Mode: "down"})
		},
		`POST /v1/gate {"vcenter":"us","mode":"slow","delay":"250ms"}`: func() (api.Done, error) {
			return c.Gate(ctx, api.GateRequest{VCenter: "us", Mode: "slow", Delay: api.Duration(250 * time.Millisecond)})
		},
		`POST /v1/stop {}`: func() (api.Done, error) { return c.Stop(ctx) },
	} {
		done, err := do()
		if err != nil || asked != want || done != (api.Done{Message: "done", Seq: 7}) {
			t.Errorf("asked %s, want %s: %+v, %v", asked, want, done, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   *api.Error // nil: none of the sandbox's own
		text   string
	}{
		{"told", 404, `{"code":"not-found","message":"vm \"a\" not found","try":"get vms"}`, &api.Error{Code: "not-found", Message: `vm "a" not found`, Try: "get vms"}, `vm "a" not found`},
		{"no code", 404, `{"message":"m"}`, nil, "sandbox: GET status: 404 Not Found"},
		{"no JSON", 500, "<html>", nil, "sandbox: GET status: 500 Internal Server Error"},
		{"nothing", 503, "", nil, "sandbox: GET status: 503 Service Unavailable"},
		{"another success", 204, "", nil, "sandbox: GET status: 204 No Content"},
		{"no JSON in a success", 200, "fine", nil, "invalid character 'i' in literal false (expecting 'a')"},
		{"cut short", 200, `{"name":`, nil, "unexpected EOF"},
		{"empty", 200, "", nil, "EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			})
			_, err := c.Status(t.Context())
			if err == nil || err.Error() != tc.text {
				t.Errorf("got %v, want %s", err, tc.text)
			}
			var failure *api.Error
			errors.As(err, &failure)
			if diff := cmp.Diff(tc.want, failure); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := api.NewClient(filepath.Join(t.TempDir(), "none")).Status(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no socket: %v", err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done() // the server learns of it
	})
	if _, err := c.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestEvents(t *testing.T) {
	first := api.EventLine{Event: event.Event{
		Seq: 40, Time: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), Plane: event.PlaneVSphere, Level: event.Warning, Kind: "vm.powered-off",
		Object: event.Object{Kind: "VM", VCenter: "us", Name: "w"}, Message: "powered off", Cause: 39,
	}, Lost: 5}
	second := api.EventLine{Event: event.Event{Seq: 41, Time: first.Time, Kind: "other"}}
	send := func(w io.Writer, lines ...api.EventLine) {
		for _, line := range lines {
			_ = json.NewEncoder(w).Encode(line)
		}
	}
	stop := errors.New("enough")
	for _, tc := range []struct {
		name   string
		after  uint64
		follow bool
		answer func(w http.ResponseWriter)
		stop   bool // after the first one
		asked  string
		want   []api.EventLine
		err    string
	}{
		{name: "all there is", answer: func(w http.ResponseWriter) { send(w, first, second) }, asked: "/v1/events?after=0&follow=false", want: []api.EventLine{first, second}},
		{name: "none", after: 41, answer: func(http.ResponseWriter) {}, asked: "/v1/events?after=41&follow=false"},
		{name: "followed to the end of the sandbox", after: 18446744073709551615, follow: true, answer: func(w http.ResponseWriter) { send(w, first) }, asked: "/v1/events?after=18446744073709551615&follow=true", want: []api.EventLine{first}},
		{name: "enough", answer: func(w http.ResponseWriter) { send(w, first, second) }, stop: true, asked: "/v1/events?after=0&follow=false", want: []api.EventLine{first}, err: "enough"},
		{name: "nonsense", answer: func(w http.ResponseWriter) { send(w, first); fmt.Fprint(w, "oops") }, asked: "/v1/events?after=0&follow=false", want: []api.EventLine{first}, err: "events: invalid character 'o' looking for beginning of value"},
		{name: "cut short", answer: func(w http.ResponseWriter) { fmt.Fprint(w, `{"seq":`) }, asked: "/v1/events?after=0&follow=false", err: "events: unexpected EOF"},
		{name: "refused", answer: func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"code":"invalid","message":"after: no"}`)
		}, asked: "/v1/events?after=0&follow=false", err: "after: no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := make(chan string, 1)
			c := serve(t, func(w http.ResponseWriter, r *http.Request) { asked <- r.URL.String(); tc.answer(w) })
			var got []api.EventLine
			err := c.Events(t.Context(), tc.after, tc.follow, func(e event.Event, lost uint64) error {
				got = append(got, api.EventLine{Event: e, Lost: lost})
				if tc.stop {
					return stop
				}
				return nil
			})
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || err.Error() != tc.err) {
				t.Errorf("ended with %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a := <-asked; a != tc.asked {
				t.Errorf("asked for %s, want %s", a, tc.asked)
			}
		})
	}
}

func TestEventsAreCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, `{"seq":1}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	err := c.Events(ctx, 0, true, func(event.Event, uint64) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[api.Duration]string{0: `"0s"`, api.Duration(250 * time.Millisecond): `"250ms"`, api.Duration(90 * time.Minute): `"1h30m0s"`} {
		b, err := json.Marshal(d)
		if err != nil || string(b) != want {
			t.Errorf("%d is %s, %v, want %s", d, b, err, want)
		}
		var back api.Duration
		if err := json.Unmarshal(b, &back); err != nil || back != d {
			t.Errorf("%s is %d, %v, want %d", b, back, err, d)
		}
	}
	for _, bad := range []string{`5`, `"5"`, `"5 parsecs"`, `""`, `{}`} {
		var d api.Duration
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s is %v", bad, time.Duration(d))
		}
	}
	if b, err := json.Marshal(api.VCenter{}); err != nil || string(b) != `{"name":"","url":"","user":"","instanceUUID":"","version":"","gate":"","watched":false,"datacenters":0,"hosts":0,"vms":0,"calls":0}` {
		t.Errorf("no delay: %s, %v", b, err)
	}
}
